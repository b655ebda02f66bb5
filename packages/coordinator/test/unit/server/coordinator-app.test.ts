import pino from 'pino';
import { expect, test } from 'vitest';
import type { OpenApiDocument } from '@convoy/api/http/openapi';
import { only } from '../../../../../test/only.js';
import { answerChecker, describedRoutes, routesOf } from '../../../../api/test/unit/http/described-answers.js';
import { aggregateProgress } from '../../../src/director/aggregate.js';
import type { FleetConsole } from '../../../src/director/fleet-console.js';
import type { FleetDirector } from '../../../src/director/fleet-director.js';
import { createCoordinatorApp } from '../../../src/server/coordinator-app.js';
import { NOW_MS, snapshot } from '../director/snapshots.js';

/** A fleet of one running instance and a silent one; commands are not supported. */
const fleet = snapshot({
  a: { progress: { lagTimeSeconds: 4, collectionCopy: { estimatedTotalBytes: 10, estimatedCopiedBytes: 5 } } },
  b: { fresh: false, state: 'IDLE' },
});
const global = aggregateProgress(fleet, {
  seconds: 9,
  bytesPerSecond: 100,
  at_ms: NOW_MS,
  since_ms: NOW_MS,
  advancedAt_ms: NOW_MS,
});
const director = only<FleetDirector>({
  watch: () => () => undefined,
  fleet: only<FleetConsole>({ isConnected: () => true }),
  snapshot: () => fleet,
  progress: () => global,
  instances: () => global.instances,
});

test("a coordinator's OpenAPI document describes every served path and its replies", async () => {
  const app = await createCoordinatorApp({
    director,
    access: { listen: '127.0.0.1', allowedHosts: [], allowUnauthenticated: false },
    logger: pino({ enabled: false }),
  });
  try {
    const document = (await app.inject('/api/v1/openapi.json')).json<OpenApiDocument>();
    const ofApi = (routes: string[]): string[] =>
      routes.filter((route) => /^\S+ \/(api\/|healthz|readyz|metrics)/.test(route)).sort();
    expect(ofApi(describedRoutes(document))).toEqual(ofApi(routesOf(app)));
    const check = answerChecker(document);
    for (const url of ['/api/v1/progress', '/api/v1/instances', '/readyz']) {
      const reply = await app.inject(url);
      expect(reply.statusCode).toBe(200);
      expect(check('GET', url, reply.statusCode, reply.json())).toEqual([]);
    }
  } finally {
    await app.close();
  }
});
