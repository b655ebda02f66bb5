import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, MongoClient } from 'mongodb';
import { Random } from '../../demo/random.js';
import { documentMaker } from '../copy/bench-documents.js';
import { percentile, type UsersOrder, type UsersResult } from './users-order.js';

/**
 * Users of one cluster in their own process: `node users-process.js ORDER`. Half of the operations read a document, a
 * quarter changes one, a quarter inserts one. Prints a `UsersResult` as its last line and waits for SIGTERM.
 */
const order = JSON.parse(process.argv[2] ?? '') as UsersOrder;
const client = new MongoClient(order.source);
await client.connect();
const documents: Collection<{ _id: number }> = client.db(order.database).collection(order.collection);
const make = documentMaker(order.documentBytes, 'varied');
const latencies_ms: number[] = [];
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
console.log(JSON.stringify(result));
setInterval(() => undefined, 60_000);

/** A user who is late sends the next operation at once, but does not make up for missed ones. */
async function use(user: number): Promise<void> {
  const random = new Random(order.firstNewId + user);
  let due = begin + (pause_ms * user) / order.users;
  for (let nth = 0; due < end; nth += 1) {
    const wait_ms = due - performance.now();
    if (wait_ms > 0) await delay(wait_ms);
    const from = performance.now();
    if (from >= end) return;
    await operate(random, nth, order.firstNewId + nth * order.users + user);
    latencies_ms.push(performance.now() - from);
    due = Math.max(due + pause_ms, performance.now());
  }
}

async function operate(random: Random, nth: number, newId: number): Promise<void> {
  const _id = random.below(order.documents);
  if (nth % 4 === 0) await documents.insertOne({ ...make(newId), _id: newId });
  else if (nth % 4 === 2) await documents.updateOne({ _id }, { $set: { value: nth } });
  else await documents.findOne({ _id });
}
