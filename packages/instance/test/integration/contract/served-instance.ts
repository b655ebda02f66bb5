import type { Progress } from '@convoy/api/contract/progress';
import type { CommandName } from '@convoy/api/contract/commands';
import type { Document } from 'mongodb';
import { expect } from 'vitest';
import type { RecentLogs } from '../../../src/logging/recent-logs.js';
import { patience_ms } from '../../../../../test/patience.js';

/** The HTTP response. */
export interface Reply {
  readonly status: number;
  readonly body: Document;
}

const poll_ms = 200;

/** An instance as a client sees it: an address that speaks HTTP. */
export class ServedInstance implements AsyncDisposable {
  #close: () => Promise<void>;

  constructor(
    readonly url: string,
    close: () => Promise<void>,
    private readonly logs: Pick<RecentLogs, 'records'> = { records: [] },
  ) {
    this.#close = close;
  }

  async request(
    method: string,
    path: string,
    init: { body?: string; headers?: Record<string, string> } = {},
  ): Promise<Reply> {
    const response = await fetch(this.url + path, { method, ...init });
    return { status: response.status, body: (await response.json()) as Document };
  }

  command(name: CommandName, body: unknown = {}): Promise<Reply> {
    return this.request('POST', `/api/v1/${name}`, { body: JSON.stringify(body) });
  }

  /** Sends a command that must be accepted. */
  async accepted(name: CommandName, body?: unknown): Promise<void> {
    expect(await this.command(name, body)).toEqual({ status: 200, body: { success: true } });
  }

  progressReply(): Promise<Reply> {
    return this.request('GET', '/api/v1/progress');
  }

  /** The `progress` document of a reply that must be a success. */
  async progress(): Promise<Progress> {
    const { status, body } = await this.progressReply();
    const { success, error, errorDescription } = body as Record<string, unknown>;
    expect({ status, success, error, errorDescription }).toEqual({ status: 200, success: true });
    return body.progress as Progress;
  }

  /** Waits for a warning or an error in the log of an instance in this process. */
  async untilLogged(event: string): Promise<void> {
    const events = (): unknown[] => this.logs.records.map((record) => record.event);
    await expect.poll(events, { timeout: patience_ms() }).toContain(event);
  }

  /** Polls progress until the condition holds; a failed migration ends the test at once. */
  async until(what: string, condition: (progress: Progress) => boolean): Promise<Progress> {
    const end_ms = Date.now() + patience_ms();
    for (;;) {
      const progress = await this.progress();
      if (condition(progress)) return progress;
      if (Date.now() > end_ms)
        throw new Error(`Waited in vain until ${what}; last progress: ${JSON.stringify(progress)}`);
      await new Promise((resolve) => setTimeout(resolve, poll_ms));
    }
  }

  untilCanCommit(): Promise<Progress> {
    return this.until('it can be committed', ({ canCommit }) => canCommit);
  }

  untilState(state: Progress['state']): Promise<Progress> {
    return this.until(`the state is ${state}`, (progress) => progress.state === state);
  }

  /** Runs a migration to its end. */
  async migrate(startBody: unknown): Promise<void> {
    await this.accepted('start', startBody);
    await this.untilCanCommit();
    await this.accepted('commit');
    await this.untilState('COMMITTED');
  }

  /** Sends the commit until it is accepted, since an offer may be withdrawn, and waits for its end. */
  async commitWhenOffered(): Promise<void> {
    const end_ms = Date.now() + patience_ms();
    for (let reply = await this.command('commit'); reply.status !== 200; reply = await this.command('commit')) {
      // Its error says more than the refusal.
      if (reply.body.error === 'migrationFailed') await this.progress();
      if (Date.now() > end_ms) throw new Error(`No commit was taken: ${JSON.stringify(reply.body)}`);
      await new Promise((resolve) => setTimeout(resolve, poll_ms));
    }
    await this.untilState('COMMITTED');
  }

  async untilReady(): Promise<void> {
    await expect
      .poll(async () => (await this.request('GET', '/readyz')).status, { timeout: patience_ms(), interval: poll_ms })
      .toBe(200);
  }

  async close(): Promise<void> {
    const close = this.#close;
    this.#close = () => Promise.resolve();
    await close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
