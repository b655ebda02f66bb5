import { Timestamp } from 'bson';
import { ServerVersion } from '../node/server-version.js';
import { MemberControl } from '../cluster/member-control.js';
import type { NodeControl } from '../cluster/node-control.js';

/** A fault as another process orders it: its name with the node's, and its parameters, e.g. `{"stop":"shard0"}`. */
type FaultOrder = Readonly<Record<string, unknown>>;

type Fault = (node: NodeControl, order: FaultOrder) => void | Promise<void>;

/** Every fault by the name of the order's first field. */
const faults: ReadonlyMap<string, Fault> = new Map<string, Fault>([
  ['stop', (node) => node.stop()],
  ['start', (node) => node.start()],
  ['restart', (node) => node.restart()],
  ['upgrade', (node, order) => node.upgrade(ServerVersion.parse(textIn(order, 'release')).series)],
  ['pause', (node) => node.pause()],
  ['resume', (node) => node.resume()],
  ['heal', (node) => node.heal()],
  ['slowCommands', (node, order) => node.slowCommands(numberIn(order, 'delayMs'))],
  [
    'slowConnections',
    (node, order) =>
      node.slowConnections({
        latencyMs: numberIn(order, 'latencyMs', 0),
        bytesPerSecond: numberIn(order, 'bytesPerSecond', Infinity),
      }),
  ],
  ['cutConnections', (node) => node.cutConnections()],
  [
    'cutAfterBytes',
    (node, order) =>
      node.cutAfterBytes(numberIn(order, 'bytes'), order['direction'] === 'received' ? 'received' : 'sent'),
  ],
  ['cutWithinReply', (node, order) => node.cutWithinReply(textIn(order, 'command'), numberIn(order, 'bytes'))],
  ['stepDown', (node, order) => memberOf(node).stepDown(numberIn(order, 'seconds'))],
  ['elect', (node) => memberOf(node).elect()],
  ['fillOplog', (node, order) => memberOf(node).fillOplog(timeIn(order))],
]);

/** Names of all faults that can be ordered. */
const faultNames: readonly string[] = [...faults.keys()];

/**
 * Runs one line of orders.
 * @param line JSON, e.g. `{"stop":"shard0"}` or `{"stepDown":"shard1","seconds":5}`
 * @returns one line of JSON: `{"done":order}`, or `{"failed":order,"message":"…"}`
 */
export async function runFaultLine(nodes: ReadonlyMap<string, NodeControl>, line: string): Promise<string> {
  let order: unknown = line;
  try {
    order = JSON.parse(line);
    await runFault(nodes, order);
    return JSON.stringify({ done: order });
  } catch (error) {
    return JSON.stringify({ failed: order, message: error instanceof Error ? error.message : String(error) });
  }
}

async function runFault(nodes: ReadonlyMap<string, NodeControl>, order: unknown): Promise<void> {
  if (typeof order !== 'object' || order === null || Array.isArray(order))
    throw new TypeError('an order is a JSON object');
  const [name, target] = Object.entries(order)[0] ?? [];
  const fault = faults.get(name ?? '');
  if (fault === undefined) throw new TypeError(`unknown order ${name ?? ''}: one of ${faultNames.join(', ')}`);
  const node = typeof target === 'string' ? nodes.get(target) : undefined;
  if (node === undefined) throw new TypeError(`no such node ${String(target)}: one of ${[...nodes.keys()].join(', ')}`);
  await fault(node, order as FaultOrder);
}

function memberOf(node: NodeControl): MemberControl {
  if (node instanceof MemberControl) return node;
  throw new TypeError(`${node.name} holds no data`);
}

function numberIn(order: FaultOrder, field: string, byDefault?: number): number {
  const value = order[field] ?? byDefault;
  if (typeof value === 'number' && value >= 0) return value;
  throw new TypeError(`${field} must be a number from 0 on`);
}

function textIn(order: FaultOrder, field: string): string {
  const value = order[field];
  if (typeof value === 'string') return value;
  throw new TypeError(`${field} must be a text`);
}

/** `before: {"t": seconds, "i": increment}`, or nothing. */
function timeIn(order: FaultOrder): Timestamp | undefined {
  const before = order['before'];
  if (before === undefined) return undefined;
  const { t, i } = (before ?? {}) as { t?: unknown; i?: unknown };
  if (typeof t === 'number' && typeof i === 'number') return new Timestamp({ t, i });
  throw new TypeError('before must be a cluster time {"t": seconds, "i": increment}');
}
