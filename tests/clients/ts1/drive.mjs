// Drives a server with the TypeScript SDK 1.x (handshake protocol versions only).

import { drive, load, Unsupported } from '../common/steps.mjs';

const SDK = '@modelcontextprotocol/sdk/dist/esm';
const MAX_PAGES = 64;

await drive(async ({ server }) => {
    const { Client } = await load('clients/ts1', `${SDK}/client/index.js`);
    const { StdioClientTransport } = await load('clients/ts1', `${SDK}/client/stdio.js`);
    const { ToolListChangedNotificationSchema } = await load('clients/ts1', `${SDK}/types.js`);
    const client = new Client({ name: 'driver-ts1', version: '1.0.0' });
    const limits = ({ timeoutMs }) => ({ timeout: timeoutMs });

    /** This SDK gives one page a call. */
    async function allPages(list, key, step) {
        const { nextCursor, ...whole } = await list(undefined, limits(step));
        for (let cursor = nextCursor, pages = 1; cursor !== undefined && pages < MAX_PAGES; pages++) {
            const page = await list({ cursor }, limits(step));
            whole[key].push(...page[key]);
            cursor = page.nextCursor;
        }
        return whole;
    }

    return {
        async connect({ mode, timeoutMs, onListChanged, onProtocolError }) {
            if (mode !== 'legacy') throw new Unsupported(`the SDK 1.x cannot negotiate \`${mode}\``);
            client.onerror = onProtocolError;
            client.setNotificationHandler(ToolListChangedNotificationSchema, onListChanged);
            const transport = new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env });
            // The client tells the transport what was agreed, and keeps it nowhere else.
            let protocolVersion;
            transport.setProtocolVersion = version => (protocolVersion = version);
            await client.connect(transport, { timeout: timeoutMs });
            return {
                protocolVersion,
                serverInfo: client.getServerVersion(),
                capabilities: client.getServerCapabilities(),
                instructions: client.getInstructions()
            };
        },
        // Nothing to open: handshake servers send list changes unasked.
        subscribe: async () => ({ unsolicited: true }),
        listTools: step => allPages((...a) => client.listTools(...a), 'tools', step),
        listResources: step => allPages((...a) => client.listResources(...a), 'resources', step),
        listPrompts: step => allPages((...a) => client.listPrompts(...a), 'prompts', step),
        call: step => client.callTool({ name: step.name, arguments: step.arguments }, undefined, limits(step)),
        readResource: step => client.readResource({ uri: step.uri }, limits(step)),
        getPrompt: step => client.getPrompt({ name: step.name, arguments: step.arguments }, limits(step)),
        complete: step => client.complete({ ref: step.ref, argument: step.argument }, limits(step)),
        ping: step => client.ping(limits(step)),
        close: () => client.close()
    };
});
