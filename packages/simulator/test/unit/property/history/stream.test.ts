import fc from 'fast-check';
import type { Document } from 'mongodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../runs.js';
import { applied } from './applied-events.js';
import { type Event, readStream, timeNumber } from './change-stream.js';
import { type DrivenHistory, DrivenHistories } from './driven-history.js';
import { histories } from './operation.js';

describe.each(['5.0', '8.0'] as const)('the change streams of a history on %s', (version) => {
  let driven: DrivenHistories;
  beforeAll(async () => {
    driven = await DrivenHistories.start(version);
  });
  afterAll(() => driven[Symbol.asyncDispose]());

  const keys = fc.constantFrom<Document>({ k: 1 }, { k: 1, _id: 1 });

  it('through a router are in order and complete, and yield the documents when applied to nothing', async () => {
    await fc.assert(
      fc.asyncProperty(histories, keys, fc.integer({ min: 1, max: 7 }), async (steps, key, batchSize) => {
        const history = await driven.play(steps, key, !driven.showsOrphans);
        const events = await eventsOf(history, 'router', batchSize);
        expectOrder(events);
        expect(applied(events).get(history.coll) ?? []).toEqual(history.model.documents());
        expect(await eventsOf(history, 'otherRouter', 1000)).toEqual(events);
      }),
      runs(8, 100),
    );
  });

  it('give the same events from any resume point, through a router and on each shard', async () => {
    await fc.assert(
      fc.asyncProperty(
        histories,
        keys,
        fc.array(fc.nat(), { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 7 }),
        async (steps, key, points, batchSize) => {
          const history = await driven.play(steps, key);
          const until = await history.now(0);
          for (const client of [driven.clients[0], ...driven.shards]) {
            if (client === undefined) continue;
            const read = (start: Document): Promise<Event[]> => readStream(client, history.db, start, until, batchSize);
            const all = await read({ startAtOperationTime: history.startTime });
            for (const point of points) {
              const from = all[point % Math.max(all.length, 1)];
              if (from === undefined || isShared(from, all)) continue;
              const behind = all.slice(all.indexOf(from) + 1);
              expect(await read({ resumeAfter: from._id })).toEqual(behind);
              expect(await read({ startAfter: from._id })).toEqual(behind);
              expect(await read({ startAtOperationTime: from.clusterTime })).toEqual(
                all.filter(({ clusterTime }) => timeNumber(clusterTime) >= timeNumber(from.clusterTime)),
              );
            }
          }
        },
      ),
      runs(6, 60),
    );
  });

  it('of the shards are together that of the router', async () => {
    await fc.assert(
      fc.asyncProperty(histories, keys, async (steps, key) => {
        const history = await driven.play(steps, key);
        const until = await history.now(0);
        const whole = await eventsOf(history, 'router', 1000);
        const parts: Event[] = [];
        for (const shard of driven.shards)
          parts.push(...(await readStream(shard, history.db, { startAtOperationTime: history.startTime }, until, 5)));
        const seen = parts.filter(({ operationType }) => operationType !== 'kNewShardDetected');
        expect(seen.map(nameOf).sort()).toEqual(whole.map(nameOf).sort());
      }),
      runs(6, 60),
    );
  });
});

async function eventsOf(history: DrivenHistory, by: 'router' | 'otherRouter', batchSize: number): Promise<Event[]> {
  const client = history.driven.clients[by === 'router' ? 0 : 1];
  if (client === undefined) throw new Error('no router');
  return readStream(client, history.db, { startAtOperationTime: history.startTime }, await history.now(0), batchSize);
}

/**
 * Every shard shows a rename or drop, at times at the same time: then their tokens are the same, and none is a point
 * between them.
 */
function isShared(event: Event, all: readonly Event[]): boolean {
  return all.filter(({ _id }) => _id._data === event._id._data).length > 1;
}

/** Tokens rise, strictly but for what several shards show of one DDL change, and times never fall. */
function expectOrder(events: readonly Event[]): void {
  for (const [at, event] of events.entries()) {
    const before = events[at - 1];
    if (before === undefined) continue;
    const mayEqual = event.documentKey === undefined && event.operationType === before.operationType;
    expect(
      event._id._data > before._id._data || (mayEqual && event._id._data === before._id._data),
      `token ${at}`,
    ).toBe(true);
    expect(timeNumber(event.clusterTime) >= timeNumber(before.clusterTime), `time ${at}`).toBe(true);
  }
}

/** What an event shows on a shard as well as through a router, where an insert names the whole key. */
function nameOf({ operationType, clusterTime, documentKey, ns }: Event): string {
  return `${timeNumber(clusterTime)} ${operationType} ${JSON.stringify(ns)} ${documentKey?._id ?? ''}`;
}
