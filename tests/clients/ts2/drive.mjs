// Drives a server with the TypeScript client 2.x, in its three ways of agreeing on a protocol version.

import { drive, load, Unsupported } from '../common/steps.mjs';

const PACKAGE = '@modelcontextprotocol/client/dist';
// The client keeps lists for as long as the server allows; a driver wants to hear the server.
const FRESH = { cacheMode: 'refresh' };

await drive(async ({ mode, server }) => {
    const { Client } = await load('clients/ts2', `${PACKAGE}/index.mjs`);
    const { StdioClientTransport } = await load('clients/ts2', `${PACKAGE}/stdio.mjs`);
    const negotiation = mode === 'legacy' || mode === 'auto' ? mode : { pin: mode };
    const client = new Client(
        { name: 'driver-ts2', version: '1.0.0' },
        { versionNegotiation: { mode: negotiation } }
    );
    const limits = ({ timeoutMs }) => ({ timeout: timeoutMs });
    let subscription;

    return {
        async connect({ timeoutMs, onListChanged, onProtocolError }) {
            client.onerror = onProtocolError;
            client.setNotificationHandler('notifications/tools/list_changed', onListChanged);
            const transport = new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env });
            await client.connect(transport, { timeout: timeoutMs });
            return {
                protocolVersion: client.getNegotiatedProtocolVersion(),
                serverInfo: client.getServerVersion(),
                capabilities: client.getServerCapabilities(),
                instructions: client.getInstructions()
            };
        },
        async subscribe(step) {
            subscription ??= await client.listen({ toolsListChanged: true }, limits(step));
            return { honored: subscription.honoredFilter };
        },
        listTools: step => client.listTools(undefined, { ...limits(step), ...FRESH }),
        listResources: step => client.listResources(undefined, { ...limits(step), ...FRESH }),
        listPrompts: step => client.listPrompts(undefined, { ...limits(step), ...FRESH }),
        call: step => client.callTool({ name: step.name, arguments: step.arguments }, limits(step)),
        readResource: step => client.readResource({ uri: step.uri }, { ...limits(step), ...FRESH }),
        getPrompt: step => client.getPrompt({ name: step.name, arguments: step.arguments }, limits(step)),
        complete: step => client.complete({ ref: step.ref, argument: step.argument }, limits(step)),
        async ping(step) {
            if (client.getProtocolEra() === 'modern') throw new Unsupported('ping ended with the handshake era');
            return client.ping(limits(step));
        },
        async close() {
            await subscription?.close();
            await client.close();
        }
    };
});
