import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, MongoClient } from 'mongodb';
import { Random } from '@convoy/cli/demo/random';
import { documentMaker } from '../copy/bench-documents.js';
import { printResult } from '../own-usage.js';
import { percentile, type UsersOrder, type UsersResult } from './users-order.js';

/**
 * Simulates users of the source in a process of its own: `node users-process.js ORDER`, where ORDER is a `UsersOrder`.
 * `users-part.ts` compares their latency alone with that during a migration. Half of the operations read a document, a
 * quarter updates one, a quarter inserts one. Its result is a `UsersResult`.
 */
const order = JSON.parse(process.argv[2] ?? '') as UsersOrder;
const client = new MongoClient(order.source);
await client.connect();
const documents: Collection<{ _id: number }> = client.db(order.database).collection(order.collection);
const make = documentMaker(order.documentBytes, 'varied');
const latencies_ms: number[] = [];
/** Interval between two operations of one user. */
const pause_ms = (order.users * 1_000) / order.operationsPerSecond;
const begin = performance.now();
const end = begin + order.duration_seconds * 1_000;
await Promise.all(Array.from({ length: order.users }, (_, user) => use(user)));
const seconds = (performance.now() - begin) / 1_000;
const result: UsersResult = {
  seconds,
  operations: latencies_ms.length,
  p50_ms: percentile(latencies_ms, 0.5),
  p99_ms: percentile(latencies_ms, 0.99),
};
printResult(result);

/**
 * One user's operations until the end. Users begin one after the other within the first interval, which spreads the
 * load evenly. A user who is late sends the next operation at once, but does not make up for missed ones.
 */
async function use(user: number): Promise<void> {
  const random = new Random(order.firstNewId + user);
  let due = begin + (pause_ms * user) / order.users;
  for (let nth = 0; due < end; nth += 1) {
    const wait_ms = due - performance.now();
    if (wait_ms > 0) await delay(wait_ms);
    const sentAt_ms = performance.now();
    if (sentAt_ms >= end) return;
    await operate(random, nth, order.firstNewId + nth * order.users + user);
    latencies_ms.push(performance.now() - sentAt_ms);
    due = Math.max(due + pause_ms, performance.now());
  }
}

async function operate(random: Random, nth: number, newId: number): Promise<void> {
  const _id = random.below(order.documents);
  if (nth % 4 === 0) await documents.insertOne({ ...make(newId), _id: newId });
  else if (nth % 4 === 2) await documents.updateOne({ _id }, { $set: { value: nth } });
  else await documents.findOne({ _id });
}
