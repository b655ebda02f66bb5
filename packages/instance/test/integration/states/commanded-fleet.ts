import { type CommandName } from '@convoy/api/contract/commands';
import { LoneFleet } from '@convoy/api/fleet/lone-fleet';
import type { Document } from 'mongodb';
import { expect } from 'vitest';
import { patience_ms } from '../../../../../test/patience.js';
import { Board } from '../contract/board-fleet.js';
import type { Fixture } from '../contract/fixture.js';
import type { ServedInstance } from '../contract/served-instance.js';
import { startBody } from '../contract/start-conditions.js';
import { effectsOf, effectsOfPair, expectFields, refusedIn, type SeenState } from './documented-states.js';

const poll_ms = 200;

/** The instances of a fleet, each commanded over HTTP, and compared with the documents. */
export class CommandedFleet implements AsyncDisposable {
  private constructor(
    readonly instances: readonly ServedInstance[],
    private readonly options: Document,
  ) {}

  /**
   * Runs one instance for all shards, or one for each.
   * @param ids the source's shards; one instance alone if there is one of them
   * @param options of the migration
   */
  static async launch(
    fixture: Fixture,
    ids: readonly string[],
    flags: Document = {},
    options: Document = {},
  ): Promise<CommandedFleet> {
    const board = new Board();
    const [only] = ids;
    const launched =
      ids.length === 1 && only !== undefined
        ? [await fixture.launchInstance(flags, new LoneFleet())]
        : await Promise.all(ids.map((id) => fixture.launchInstance({ ...flags, id }, board.seat())));
    return new CommandedFleet(launched, options);
  }

  async untilReady(): Promise<void> {
    for (const instance of this.instances) await instance.untilReady();
  }

  /** The current states; fields that differ from the documents fail the test. */
  states(): Promise<SeenState[]> {
    return Promise.all(this.instances.map((instance) => this.stateOf(instance)));
  }

  async until(state: SeenState): Promise<void> {
    const end_ms = Date.now() + patience_ms();
    for (;;) {
      const seen = await this.states();
      if (seen.every((one) => one === state)) return;
      if (Date.now() > end_ms) throw new Error(`Waited in vain for ${state}; the states are ${seen.join(', ')}.`);
      await new Promise((resolve) => setTimeout(resolve, poll_ms));
    }
  }

  async untilCanCommit(): Promise<void> {
    for (const instance of this.instances) await instance.untilCanCommit();
  }

  /** Every instance refuses every command that the state refuses: once, again, and together with another one. */
  async refusesByState(state: SeenState): Promise<void> {
    const refused = refusedIn(state);
    for (const [turn, command] of refused.entries()) {
      const other = refused[(turn + 1) % refused.length] ?? command;
      await this.sends(state, command);
      await this.sends(state, command);
      await this.sendsAtOnce(state, [command, other]);
      await this.sendsAtOnce(state, [command, command]);
    }
    expect(new Set(await this.states())).toEqual(new Set([state]));
  }

  /** Sends a command to every instance; all answer as documented for their state. */
  async sends(state: SeenState, command: CommandName): Promise<void> {
    const seen = await Promise.all(this.instances.map(async (instance) => this.replyOf(instance, command)));
    for (const reply of seen)
      expect({ state, command, may: effectsOf(state, command).map((effect) => effect.reply) }).toEqual({
        state,
        command,
        may: expect.arrayContaining([reply]) as unknown,
      });
  }

  /** Sends two commands to every instance at once: each does what they do one after the other. */
  async sendsAtOnce(state: SeenState, pair: readonly [CommandName, CommandName]): Promise<void> {
    await Promise.all(
      this.instances.map(async (instance) => {
        const replies = await Promise.all(pair.map((command) => this.replyOf(instance, command)));
        const seen = { replies, next: await this.stateOf(instance) };
        expect({ state, pair, may: effectsOfPair(state, pair) }).toEqual({
          state,
          pair,
          may: expect.arrayContaining([seen]) as unknown,
        });
      }),
    );
  }

  /** Waits for a reverse to end, and brings paused instances to RUNNING. */
  async settleRunning(): Promise<void> {
    await expect.poll(() => this.states(), { timeout: patience_ms(), interval: poll_ms }).not.toContain('REVERSING');
    for (const instance of this.instances)
      if ((await this.stateOf(instance)) === 'PAUSED') await instance.accepted('resume');
  }

  /** Sends commit to those that do not have it yet. */
  async commitRest(): Promise<void> {
    await this.settleRunning();
    for (const instance of this.instances) {
      await expect
        .poll(
          async () =>
            (await this.stateOf(instance)) !== 'RUNNING' || (await this.replyOf(instance, 'commit')) === 'success',
          { timeout: patience_ms(), interval: poll_ms },
        )
        .toBe(true);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.close()));
  }

  /** `success`, or the name of the error. */
  private async replyOf(instance: ServedInstance, command: CommandName): Promise<string> {
    const { status, body } = await instance.command(command, command === 'start' ? startBody(this.options) : {});
    if (status === 200) {
      expect(body).toEqual({ success: true });
      return 'success';
    }
    expect(body).toEqual({
      success: false,
      error: expect.any(String) as unknown,
      errorDescription: expect.stringMatching(/\w/) as unknown,
    });
    return String(body.error);
  }

  private async stateOf(instance: ServedInstance): Promise<SeenState> {
    const { status, body } = await instance.progressReply();
    if (status !== 200) {
      expect(body).toEqual({
        success: false,
        error: expect.any(String) as unknown,
        errorDescription: expect.any(String) as unknown,
      });
      return 'failed';
    }
    const progress = body.progress as Awaited<ReturnType<ServedInstance['progress']>>;
    expectFields(progress);
    return progress.state === 'COMMITTED' && this.options.reversible === true ? 'reversible' : progress.state;
  }
}
