import type { ReleaseSeries } from '@convoy/simulator';
import { Closers } from '@convoy/testbed/closers';
import { startLocalCluster } from '@convoy/testbed/cluster/local-cluster';
import { reach, type Reached } from '../../src/framework/reach.js';

/** Idle simulated shards write often, so that streams need not wait. */
const noopInterval_ms = 20;

export interface ProbedOptions {
  readonly topology: Reached['topology'];
  readonly release?: ReleaseSeries;
  readonly withUsers?: boolean;
}

/** A cluster as `convoy probe` reaches it, as root if it has users. */
export interface Probed extends AsyncDisposable {
  readonly reached: Reached;
  readonly backend: string;
  readonly connectionString: string;
}

/** Starts a cluster of two shards or a replica set. */
export async function startProbed({ topology, release, withUsers = false }: ProbedOptions): Promise<Probed> {
  const closers = new Closers();
  const size = topology === 'sharded' ? { shards: 2 } : 'replicaSet';
  const cluster = await startLocalCluster({
    topology: size,
    withUsers,
    noopInterval_ms,
    ...(release !== undefined && { release }),
  });
  closers.defer(() => cluster.close());
  const connectionString = cluster.connectionStringOf('root');
  const reached = await reach(connectionString, undefined, new AbortController().signal);
  closers.defer(() => reached.close());
  return {
    reached,
    backend: cluster.backend,
    connectionString,
    [Symbol.asyncDispose]: () => closers[Symbol.asyncDispose](),
  };
}
