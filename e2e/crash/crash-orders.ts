import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { expect, vi } from 'vitest';
import type { InstanceProcess } from '@convoy/cli/environment/fleet/instance-process';
import type { LeaderStep } from '@convoy/instance/lifecycle/migration/steps';
import { isAlive } from '../is-alive.js';

/** Victims of a kill after a step of the leader. */
export type Kill = 'leader' | 'others' | 'all';

const within_ms = 120_000;
const poll_ms = 20;
const hook = new URL('crash-hook.mjs', import.meta.url).href;

/** Orders for the hook in instances that start from now on. */
export class CrashOrders implements Disposable {
  /** @param file of the order; renamed once the order is carried out */
  constructor(private readonly file: string) {
    vi.stubEnv('NODE_OPTIONS', [process.env['NODE_OPTIONS'], `--import=${hook}`].filter(Boolean).join(' '));
    vi.stubEnv('CONVOY_CRASH_ORDER', file);
  }

  /** Kills at the next time that the leader has done the step; the others, if they are meant, as they run now. */
  order(step: LeaderStep, kill: Kill, instances: readonly InstanceProcess[]): void {
    rmSync(`${this.file}.done`, { force: true });
    const others = kill === 'others' ? instances.map(({ pid }) => pid) : null;
    writeFileSync(`${this.file}.new`, JSON.stringify({ step, others }));
    renameSync(`${this.file}.new`, this.file);
  }

  /**
   * Waits until it is done, and lets all others follow a leader with whom they are to die. @returns those that are dead
   * now
   */
  async untilDone(step: LeaderStep, kill: Kill, instances: readonly InstanceProcess[]): Promise<InstanceProcess[]> {
    await expect
      .poll(() => this.isDone, { timeout: within_ms, interval: poll_ms, message: `the leader has done "${step}"` })
      .toBe(true);
    if (kill === 'all') await Promise.all(instances.map((instance) => instance.kill()));
    const gone = (): InstanceProcess[] => instances.filter(({ pid }) => !isAlive(pid));
    const expected = { leader: 1, others: instances.length - 1, all: instances.length }[kill];
    await expect.poll(() => gone().length, { timeout: within_ms, interval: poll_ms }).toBe(expected);
    return gone();
  }

  get isDone(): boolean {
    return existsSync(`${this.file}.done`);
  }

  [Symbol.dispose](): void {
    vi.unstubAllEnvs();
  }
}
