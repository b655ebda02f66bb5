import { MongoClient } from 'mongodb';
import { ClientRing, clientOptions } from '../../../../src/cluster/driver/clients.js';
import { DriverNodeClient } from '../../../../src/cluster/driver/driver-node-client.js';
import { ScriptedNode, type Script } from '../scripted-node.js';

/** A signal that never aborts. */
export const signal: AbortSignal = new AbortController().signal;

/** A client with one driver client for each node; the caller closes it. */
export function clientTo(...nodes: ScriptedNode[]): DriverNodeClient {
  const makers = nodes.map(
    (node) => () => new MongoClient(`${node.connectionString}?directConnection=true`, clientOptions({})),
  );
  return new DriverNodeClient({ label: 'test', ring: new ClientRing(makers), readPreference: null });
}

/** Runs `run` with a client of one scripted node, and closes both. */
export async function withClient<T>(
  script: Script,
  run: (nodeClient: DriverNodeClient, node: ScriptedNode) => Promise<T>,
): Promise<T> {
  await using node = await ScriptedNode.start(script);
  const nodeClient = clientTo(node);
  try {
    return await run(nodeClient, node);
  } finally {
    await nodeClient.close();
  }
}
