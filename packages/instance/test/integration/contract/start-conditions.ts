import { idleProgress } from '@convoy/api/contract/progress';
import type { ErrorName } from '@convoy/api/errors/table';
import type { Document } from 'mongodb';
import { expect } from 'vitest';
import type { Fixture } from './fixture.js';
import type { ServedInstance } from './served-instance.js';

/** Source and destination by name, and other fields. */
export function startBody(more: Document = {}): Document {
  return { source: 'cluster0', destination: 'cluster1', ...more };
}

/** The expected answer to a start. */
export interface Refusal {
  readonly status: number;
  readonly error: ErrorName;
  /** A part of `errorDescription`. */
  readonly says?: RegExp;
}

/** Sends a start that must be refused, and checks that it changed nothing. */
export async function refuses(
  fixture: Fixture,
  instance: ServedInstance,
  body: Document,
  refusal: Refusal,
): Promise<void> {
  const before = [await fixture.cluster0.contents(), await fixture.cluster1.contents()];
  const reply = await instance.command('start', body);
  expect(reply).toEqual({
    status: refusal.status,
    body: {
      success: false,
      error: refusal.error,
      errorDescription: expect.stringMatching(refusal.says ?? /\w/) as unknown,
    },
  });
  expect(await instance.progress()).toEqual(idleProgress());
  expect([await fixture.cluster0.contents(), await fixture.cluster1.contents()]).toEqual(before);
}

/** Sends a start that must be accepted, and checks that the instance runs. */
export async function accepts(instance: ServedInstance, body: Document): Promise<void> {
  await instance.accepted('start', body);
  expect((await instance.progress()).state).toBe('RUNNING');
}

/** Sends a wrong start and then, to the same instance, the corrected one. */
export async function refusesThenAccepts(
  fixture: Fixture,
  wrong: Document,
  refusal: Refusal,
  corrected: Document,
): Promise<void> {
  await using instance = await fixture.startInstance();
  await refuses(fixture, instance, wrong, refusal);
  await accepts(instance, corrected);
}
