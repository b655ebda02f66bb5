import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { aggregateProgress } from '../../../src/progress/aggregate.js';
import { FleetChanges } from '../../../src/server/fleet-changes.js';
import { ProgressEvents } from '../../../src/server/progress-events.js';
import { NOW_MS, snapshot } from '../progress/snapshots.js';

/** As many as the service accepts at once. */
const clientsMax = 100;
const fleet = snapshot({ a: {} });
const global = aggregateProgress(fleet, {
  seconds: 9,
  bytesPerSecond: 100,
  at_ms: NOW_MS,
  since_ms: NOW_MS,
  advancedAt_ms: NOW_MS,
});
const director = {
  watch: () => () => undefined,
  snapshot: () => fleet,
  progress: () => global,
  commandsSent: 0,
};

function response(isGone: boolean): ServerResponse {
  const stream = new ServerResponse(new IncomingMessage(new Socket()));
  if (isGone) stream.destroy();
  return stream;
}

test.each([
  ['pages', () => new FleetChanges(director, NOW_MS)],
  ['clients of the progress', () => new ProgressEvents(director, NOW_MS)],
] as const)('%s that closed before they were added do not count', (_name, open) => {
  const streams = open();
  for (let client = 0; client < clientsMax; client += 1) streams.add(response(true), undefined);
  expect(streams.hasRoom()).toBe(true);
  for (let client = 0; client < clientsMax; client += 1) streams.add(response(false), undefined);
  expect(streams.hasRoom()).toBe(false);
  streams.close();
});
