import type { Timestamp } from 'bson';
import type { VersionedShard } from '../versioned-shard.js';

export type StreamEventJson = Record<string, unknown> & { _id: { _data: string }; operationType: string };

/** The first batch of a stream over the cluster, from a time on. @param rest stages behind `$changeStream` */
export async function eventsOf(
  fixture: VersionedShard,
  from: Timestamp,
  stage: Record<string, unknown> = {},
  rest: Record<string, unknown>[] = [],
): Promise<StreamEventJson[]> {
  const pipeline = [{ $changeStream: { allChangesForCluster: true, startAtOperationTime: from, ...stage } }, ...rest];
  return (await fixture.found('admin', { aggregate: 1, pipeline, cursor: {} })) as StreamEventJson[];
}

/** What a stream over the cluster gives behind a token. */
export async function eventsAfter(
  fixture: VersionedShard,
  token: unknown,
  stage: Record<string, unknown> = {},
  rest: Record<string, unknown>[] = [],
): Promise<StreamEventJson[]> {
  const pipeline = [{ $changeStream: { allChangesForCluster: true, resumeAfter: token, ...stage } }, ...rest];
  return (await fixture.found('admin', { aggregate: 1, pipeline, cursor: {} })) as StreamEventJson[];
}
