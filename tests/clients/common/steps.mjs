// Runs a scenario against one MCP client. The JavaScript drivers share this file; steps.py is its
// Python twin. A driver hands in an adapter: an object with one async method per kind of step, each
// using the typed methods of its SDK and answering with what the SDK gave back.

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const USAGE =
    'usage: drive.mjs --mode legacy|auto|2026-07-28 [--via cli|session] --server-cmd CMD [ARG...] < scenario.json';
const MODES = ['legacy', 'auto', '2026-07-28'];
const DEFAULT_TIMEOUT_MS = 30_000;
const RETRY_PAUSE_MS = 100;

/** Thrown by an adapter for what its SDK has no means of doing. */
export class Unsupported extends Error {}

const here = dirname(fileURLToPath(import.meta.url));

/** The packages that install.sh put into a folder of that name, for example `clients/ts1`. */
export function installed(set) {
    const base = resolve(process.env.EVOKORE_IT_DIR ?? join(here, '..', '..', '..', 'target', 'it'));
    const packages = join(base, set, 'node_modules');
    if (!existsSync(packages)) {
        throw new Error(`the client is not installed: no \`${packages}\`\nhint: run tests/clients/install.sh`);
    }
    return packages;
}

/** Imports a file of an installed package; ES modules have no search path that could be pointed there. */
export function load(set, file) {
    return import(pathToFileURL(join(installed(set), file)));
}

function parseArguments(argv) {
    const options = { mode: undefined, via: 'cli', server: [] };
    for (let i = 0; i < argv.length; i++) {
        if (argv[i] === '--mode') options.mode = argv[++i];
        else if (argv[i] === '--via') options.via = argv[++i];
        else if (argv[i] === '--server-cmd') {
            options.server = argv.slice(i + 1);
            break;
        } else throw new Error(`unknown argument \`${argv[i]}\`\n${USAGE}`);
    }
    if (!MODES.includes(options.mode)) throw new Error(`--mode must be one of ${MODES.join(', ')}\n${USAGE}`);
    if (options.server.length === 0) throw new Error(`--server-cmd is missing\n${USAGE}`);
    return options;
}

const sleep = ms => new Promise(done => setTimeout(done, ms));

/** Counts tools/list_changed notifications, so that a step can ask what arrived since the step before it began. */
class Changes {
    seen = 0;
    #waiting = [];
    add() {
        this.seen++;
        this.#waiting.splice(0).forEach(wake => wake());
    }
    async beyond(mark, timeoutMs) {
        const end = Date.now() + timeoutMs;
        while (this.seen <= mark) {
            const left = end - Date.now();
            if (left <= 0) throw Object.assign(new Error(`no tools/list_changed within ${timeoutMs} ms`), { kind: 'timeout' });
            let timer;
            await Promise.race([
                new Promise(wake => this.#waiting.push(wake)),
                new Promise(wake => (timer = setTimeout(wake, left)))
            ]);
            clearTimeout(timer);
        }
    }
}

function kindOf({ kind, code, name, constructor }) {
    if (kind) return kind;
    if (constructor === Unsupported) return 'unsupported';
    if (code === -32001 || code === 'REQUEST_TIMEOUT') return 'timeout';
    if (code === 'INVALID_RESULT' || /^\$?Zod/.test(name) || /^\$?Zod/.test(constructor?.name)) return 'schema';
    return typeof code === 'number' ? 'rpc' : 'client';
}

/** An SDK error as plain data: what kind it is, the JSON-RPC code where there is one, and its text. */
function describe(error) {
    return { kind: kindOf(error), code: error.code, message: String(error.message ?? error), data: error.data };
}

class Run {
    changes = new Changes();
    protocolErrors = [];
    era = undefined;
    previousMark = 0;

    constructor(adapter, options) {
        this.adapter = adapter;
        this.options = options;
    }

    async act(step) {
        const timeoutMs = step.timeoutMs ?? DEFAULT_TIMEOUT_MS;
        switch (step.do) {
            case 'connect': {
                const result = await this.adapter.connect({
                    ...this.options,
                    timeoutMs,
                    onListChanged: () => this.changes.add(),
                    onProtocolError: error => this.protocolErrors.push(String(error?.message ?? error))
                });
                this.era = result.protocolVersion >= '2026' ? 'modern' : 'legacy';
                return { ...result, era: this.era };
            }
            case 'wait_list_changed':
                if (!this.adapter.subscribe) throw new Unsupported('this client does not report list changes');
                if (this.era === 'modern') await this.adapter.subscribe({ timeoutMs });
                await this.changes.beyond(this.previousMark, timeoutMs);
                await sleep(step.settleMs ?? 0);
                return { changes: this.changes.seen - this.previousMark };
            case 'count_list_changed':
                if (!this.adapter.subscribe) throw new Unsupported('this client does not report list changes');
                await sleep(step.forMs);
                return { changes: this.changes.seen - this.previousMark };
            case 'subscribe':
                if (!this.adapter.subscribe) throw new Unsupported('this client does not report list changes');
                return this.era === 'modern' ? this.adapter.subscribe({ timeoutMs }) : { unsolicited: true };
            default: {
                const method = { call: 'call', close: 'close', ping: 'ping', complete: 'complete',
                    list_tools: 'listTools', list_resources: 'listResources', read_resource: 'readResource',
                    list_prompts: 'listPrompts', get_prompt: 'getPrompt' }[step.do];
                if (!method) throw new Error(`unknown step \`${step.do}\``);
                if (!this.adapter[method]) throw new Unsupported(`this client has no ${step.do}`);
                return this.adapter[method]({ ...step, timeoutMs });
            }
        }
    }

    /** `until` and `while` repeat a step while the text of its result lacks or has a word. */
    async repeat(step) {
        const end = Date.now() + (step.timeoutMs ?? DEFAULT_TIMEOUT_MS);
        for (;;) {
            const result = await this.act(step);
            const text = JSON.stringify(result);
            const done = (step.until === undefined || text.includes(step.until)) &&
                (step.while === undefined || !text.includes(step.while));
            if (done) return result;
            if (Date.now() >= end) {
                const wish = step.until === undefined ? `\`${step.while}\` to go` : `\`${step.until}\``;
                throw Object.assign(new Error(`gave up waiting for ${wish}; last result: ${text.slice(0, 2000)}`), { kind: 'timeout' });
            }
            await sleep(RETRY_PAUSE_MS);
        }
    }

    async step(step) {
        if (step.era && step.era !== this.era) return { ok: true, skipped: `only for the ${step.era} era` };
        const mark = this.changes.seen;
        const begun = performance.now();
        let line;
        try {
            line = { ok: true, result: await this.repeat(step) };
        } catch (error) {
            line = { ok: false, error: describe(error) };
        }
        this.previousMark = mark;
        line.ms = Math.round(performance.now() - begun);
        if (step.do === 'close' && line.ok) line.result = { ...line.result, ms: line.ms };
        if (this.protocolErrors.length > 0) {
            line.ok = false;
            line.protocolErrors = this.protocolErrors.splice(0);
        }
        return line;
    }
}

/** Reads the scenario from stdin, runs it, prints one JSON line per step. Exit code 2: it could not be run. */
export async function drive(makeAdapter) {
    // Standard output is for the lines of this driver; an SDK may chat on its own.
    console.log = console.info = console.debug = console.error;
    let options, steps, adapter;
    try {
        options = parseArguments(process.argv.slice(2));
        const scenario = JSON.parse(readFileSync(0, 'utf8'));
        steps = Array.isArray(scenario) ? scenario : scenario.steps;
        adapter = await makeAdapter(options);
    } catch (error) {
        console.error(error.message);
        process.exit(2);
    }
    const run = new Run(adapter, options);
    for (const [index, step] of steps.entries()) {
        const line = await run.step(step);
        process.stdout.write(`${JSON.stringify({ step: index, do: step.do, ...line })}\n`);
        if (step.do === 'connect' && !line.ok) break;
    }
    await adapter.dispose?.();
    // An SDK may keep timers of its own; everything has been said by now.
    process.exit(0);
}
