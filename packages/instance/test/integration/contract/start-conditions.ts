import { idleProgress } from '@convoy/api/contract/progress';
import type { ErrorName } from '@convoy/api/errors/table';
import type { Document } from 'mongodb';
import { expect } from 'vitest';
import type { Scene } from './scene.js';
import type { ServedInstance } from './served-instance.js';

/** Source and destination by name, and what else is given. */
export function startBody(more: Document = {}): Document {
  return { source: 'cluster0', destination: 'cluster1', ...more };
}

/** What a start has to be answered with. */
export interface Refusal {
  readonly status: number;
  readonly error: ErrorName;
  /** A part of `errorDescription`. */
  readonly says?: RegExp;
}

/** Sends a start that has to be refused, and sees that nothing was changed by it. */
export async function refuses(scene: Scene, instance: ServedInstance, body: Document, refusal: Refusal): Promise<void> {
  const before = [await scene.cluster0.contents(), await scene.cluster1.contents()];
  const reply = await instance.command('start', body);
  expect(reply).toEqual({
    status: refusal.status,
    body: { success: false, error: refusal.error, errorDescription: expect.stringMatching(refusal.says ?? /\w/) as unknown },
  });
  expect(await instance.progress()).toEqual(idleProgress());
  expect([await scene.cluster0.contents(), await scene.cluster1.contents()]).toEqual(before);
}

/** Sends a start that has to be accepted, and sees that the instance runs. */
export async function accepts(instance: ServedInstance, body: Document): Promise<void> {
  await instance.accepted('start', body);
  expect((await instance.progress()).state).toBe('RUNNING');
}

/** Sends a wrong start and then, to the same instance, the corrected one. */
export async function refusesThenAccepts(scene: Scene, wrong: Document, refusal: Refusal, corrected: Document): Promise<void> {
  await using instance = await scene.startInstance();
  await refuses(scene, instance, wrong, refusal);
  await accepts(instance, corrected);
}
