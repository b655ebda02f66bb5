import type { ClusterAddresses, ReadyMessage, ReplicaSetAddresses, WorkerOrder } from './worker-order.js';

/** What a person at a terminal reads once the servers listen: where to connect and how to stop it. */
export function readyText(ready: ReadyMessage, order: WorkerOrder): string {
  const [title, members] = 'router' in ready ? clusterText(ready, order) : replicaSetText(ready, order);
  const lines = members.map(([address, what]) => `  ${address.padEnd(addressWidth(members))}  ${what}`);
  return (
    `${title}\n\n${lines.join('\n')}\n\nConnect to ${ready.connectionString}\nPress Ctrl-C to stop it; its data ` +
    'is in memory only and goes with it.\n'
  );
}

type Member = readonly [address: string, what: string];

function clusterText(ready: ClusterAddresses, { version }: WorkerOrder): [string, Member[]] {
  const members: Member[] = [
    ...ready.routers.map((host, index): Member => [
      `mongodb://${host}`,
      ready.routers.length === 1 ? 'router' : `router ${index + 1}`,
    ]),
    ...ready.shards.map((host, index): Member => [direct(host), `shard${index}, without the router`]),
    [direct(ready.config), 'config server'],
  ];
  return [
    `A simulated MongoDB ${version} cluster is running: ${ready.shards.length} ` +
      `${ready.shards.length === 1 ? 'shard' : 'shards'}.`,
    members,
  ];
}

function replicaSetText(ready: ReplicaSetAddresses, { version }: WorkerOrder): [string, Member[]] {
  return [`A simulated MongoDB ${version} replica set is running.`, [[ready.connectionString, `set ${ready.setName}`]]];
}

function direct(host: string): string {
  return `mongodb://${host}/?directConnection=true`;
}

function addressWidth(members: readonly Member[]): number {
  return Math.max(...members.map(([address]) => address.length));
}

/**
 * One sentence for a person about why the servers did not start, or the stack of an unexpected failure.
 * @param error of the worker
 */
export function startFailure(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, port, address } = error as { code?: string; port?: number; address?: string };
  switch (code) {
    case 'EADDRINUSE':
      return (
        `Port ${port ?? ''} of ${address ?? 'this machine'} is in use: choose another --port, or 0 for any free ` +
        'ones.'
      );
    case 'EACCES':
      return (
        `Port ${port ?? ''} of ${address ?? 'this machine'} may not be opened by this user: choose a --port of ` +
        '1024 or more.'
      );
    case 'ERR_WORKER_OUT_OF_MEMORY':
      return 'The data no longer fits into the memory allowed: choose a larger --memory-mb.';
    default:
      return error.stack ?? error.message;
  }
}
