// Drives a server with the Inspector's command line. `--via cli` (the default) starts the Inspector, and with
// it the server, anew for every step, as a person would; `--via session` keeps one connection for the whole
// scenario with the Inspector's second command, `mcpdo`.

import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drive, installed, Unsupported } from '../common/steps.mjs';

const ERAS = { legacy: 'legacy', auto: 'auto', '2026-07-28': 'modern' };
const SERVER = 'subject';
const pairs = object => Object.entries(object ?? {}).map(([key, value]) => `${key}=${value}`);

/** Keeps the Inspector's files (settings, secrets, its background process) in a folder of this run. */
class Home {
    path = mkdtempSync(join(tmpdir(), 'inspector-'));
    config = join(this.path, 'servers.json');
    env = {
        ...process.env,
        HOME: this.path,
        MCP_STORAGE_DIR: this.path,
        MCP_INSPECTOR_SECRET_STORE: 'memory',
        MCP_INSPECTOR_DAEMON_DIR: this.path,
        MCP_INSPECTOR_DAEMON_TOKEN: randomBytes(24).toString('hex')
    };

    constructor(command, era) {
        delete this.env.MCP_CATALOG_PATH; // excludes --config
        // The Inspector hands a server only what its entry names, so the entry names everything.
        const entry = { command: command[0], args: command.slice(1), env: process.env, protocolEra: era };
        writeFileSync(this.config, JSON.stringify({ mcpServers: { [SERVER]: entry } }), { mode: 0o600 });
    }

    remove = () => rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
}

/** Runs one of the Inspector's commands. A tool's `isError` also ends it with a code, so the output decides. */
function run(home, bin, args, timeoutMs) {
    const script = join(installed('clients/inspector'), '@modelcontextprotocol', 'inspector', 'clients', bin);
    const child = spawn(process.execPath, [script, ...args], { env: home.env, timeout: timeoutMs });
    const out = [], err = [];
    child.stdout.on('data', bytes => out.push(bytes));
    child.stderr.on('data', bytes => err.push(bytes));
    child.stdin.end();
    return new Promise((resolve, reject) => {
        child.on('error', reject);
        child.on('close', (code, signal) => {
            const text = Buffer.concat(out).toString().trim();
            const complaint = Buffer.concat(err).toString();
            if (signal) reject(Object.assign(new Error(`the Inspector gave no answer within ${timeoutMs} ms`), { kind: 'timeout' }));
            else if (text) resolve(JSON.parse(text));
            else reject(failure(complaint, code));
        });
    });
}

/** The Inspector writes `{"error": {"code", "message"}}` and keeps a JSON-RPC code only in the message. */
function failure(complaint, code) {
    const line = complaint.split('\n').find(line => line.startsWith('{"error"'));
    const error = line ? JSON.parse(line).error : { message: complaint.trim() || `the Inspector ended with code ${code}` };
    const rpc = /MCP error (-?\d+)/.exec(error.message);
    const kind = error.code === undefined || error.code === 'error' ? 'client' : error.code;
    return Object.assign(new Error(error.message), rpc ? { code: Number(rpc[1]) } : { kind });
}

/** One Inspector, and one server, per step. */
function perCall(home) {
    const ask = async (method, { timeoutMs }, extra = []) => {
        const answer = await run(home, 'launcher/build/index.js',
            ['--cli', '--config', home.config, '--server', SERVER, '--format', 'json', '-q', '--method', method, ...extra], timeoutMs);
        return answer.result;
    };
    return {
        connect: step => ask('initialize', step),
        listTools: step => ask('tools/list', step),
        listResources: step => ask('resources/list', step),
        listPrompts: step => ask('prompts/list', step),
        call: step => ask('tools/call', step, ['--tool-name', step.name, '--tool-args-json', JSON.stringify(step.arguments ?? {})]),
        readResource: step => ask('resources/read', step, ['--uri', step.uri]),
        getPrompt: step => ask('prompts/get', step, ['--prompt-name', step.name,
            ...pairs(step.arguments).flatMap(pair => ['--prompt-args', pair])]),
        close: async () => ({}),
        dispose: home.remove
    };
}

/** One connection for the whole scenario. */
function session(home) {
    const ask = ({ timeoutMs }, ...args) => run(home, 'mcpdo/build/mcp-bin.js', ['--format', 'json', ...args], timeoutMs);
    const at = `@${SERVER}`;
    return {
        async connect(step) {
            await ask(step, '--config', home.config, 'connect', SERVER);
            const { protocolVersion, serverInfo, capabilities, instructions } = await ask(step, at, 'connections/show');
            return { protocolVersion, serverInfo, capabilities, instructions };
        },
        listTools: step => ask(step, at, 'tools/list'),
        listResources: step => ask(step, at, 'resources/list'),
        listPrompts: step => ask(step, at, 'prompts/list'),
        call: step => ask(step, at, 'tools/call', step.name, JSON.stringify(step.arguments ?? {})),
        readResource: step => ask(step, at, 'resources/read', step.uri),
        getPrompt: step => ask(step, at, 'prompts/get', step.name,
            ...pairs(step.arguments).flatMap(pair => ['--prompt-args', pair])),
        async complete(step) {
            const values = await ask(step, at, 'prompts/complete', '--complete-ref-type', step.ref.type,
                '--complete-ref', step.ref.name ?? step.ref.uri,
                '--complete-arg-name', step.argument.name, '--complete-arg-value', step.argument.value);
            return { completion: values };
        },
        close: step => ask(step, 'disconnect', SERVER),
        async dispose() {
            await ask({ timeoutMs: 10_000 }, 'daemon', 'stop').catch(() => {});
            home.remove();
        }
    };
}

await drive(async ({ mode, via, server }) => {
    if (!['cli', 'session'].includes(via)) throw new Error('--via must be cli or session');
    installed('clients/inspector');
    const home = new Home(server, ERAS[mode]);
    return via === 'session' ? session(home) : perCall(home);
});
