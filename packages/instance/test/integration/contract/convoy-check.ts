import type { Document } from 'mongodb';
import { expect } from 'vitest';
import type { StartRequestBody } from '@convoy/api/contract/start-request';
import { parseInstanceConfig } from '../../../src/config/instance-config.js';
import { preflight } from '../../../src/lifecycle/instance/answer-questions.js';
import type { PreflightReport } from '../../../src/preflight/examination.js';
import { requestOf } from '../../unit/preflight/fixture.js';
import type { Fixture } from './fixture.js';
import type { Refusal } from './start-conditions.js';

/** What `convoy check` finds. */
export function convoyCheck(
  { cluster0, cluster1 }: Fixture,
  body: Partial<StartRequestBody> = {},
  flags: Document = {},
): Promise<PreflightReport> {
  const clusters = { cluster0: cluster0.connectionString, cluster1: cluster1.connectionString };
  const config = parseInstanceConfig({ flags: { ...clusters, ...flags } });
  return preflight(config, requestOf(body), AbortSignal.timeout(120_000));
}

/** Asks `convoy check`, which must name the refusal of a start, and change nothing. */
export async function checkNames(fixture: Fixture, { error, says }: Omit<Refusal, 'status'>): Promise<void> {
  const before = [await fixture.cluster0.contents(), await fixture.cluster1.contents()];
  const { canStart, items } = await convoyCheck(fixture);
  expect({ canStart, failed: items.filter(({ result }) => result === 'failed') }).toEqual({
    canStart: false,
    failed: [expect.objectContaining({ error, description: expect.stringMatching(says ?? /\w/) as unknown })],
  });
  expect([await fixture.cluster0.contents(), await fixture.cluster1.contents()]).toEqual(before);
}
