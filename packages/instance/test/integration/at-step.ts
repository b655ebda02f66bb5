import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { onTestFinished } from 'vitest';
import { type LeaderStep, stepChannel } from '../../src/lifecycle/migration/steps.js';

/**
 * Runs something right after a step of a leader of this process, before the leader begins anything else.
 * @returns what that resolves to
 */
export function atStep<Result>(step: LeaderStep, act: () => Result | Promise<Result>): Promise<Result> {
  return new Promise((resolve) => {
    const listener = (message: unknown): void => {
      if ((message as { step: LeaderStep }).step !== step) return;
      unsubscribe(stepChannel, listener);
      resolve(act());
    };
    subscribe(stepChannel, listener);
    onTestFinished(() => void unsubscribe(stepChannel, listener));
  });
}
