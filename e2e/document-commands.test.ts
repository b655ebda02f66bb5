import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, dirname } from 'node:path';
import { MongoClient } from 'mongodb';
import { expect, onTestFinished, test } from 'vitest';
import { withoutRedisVariable } from '@convoy/cli/environment/fleet/convoy-program';
import { Closers } from '@convoy/testbed/closers';
import { Child } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import {
  NotificationReceiver,
  receiverSecret,
} from '../packages/coordinator/test/integration/notification-receiver.js';
import { runs } from '../test/delivery/deployment.js';
import { walk, type Step } from '../test/commands/walk.js';
import { readText, root } from '../test/source-tree.js';
import { isFullRun } from './requirements.js';

/** A loaded host is slow; `convoy start --wait` copies and compares. */
const commandWithin_ms = 180_000;
/** Ports that the documents name. */
const documentedPorts = [27100, 27200, 27180, 27182, 27183, 6379];

/** Each command starts a process: together they take longer than a usual run has for them. */
const canRun = isFullRun && runs('redis-server', '--version') && runs('curl', '--version');

test.skipIf(!canRun)('the commands of README and docs migrate one small fleet (full run)', async () => {
  await using reader = await Reader.start();
  await reader.startAll(walk.clusters);
  await reader.fillSource();
  await reader.runAll(walk.preparation);
  const fleet = await reader.startAll(walk.fleet);
  await reader.untilFleetIsWhole();
  await reader.runAll(walk.start);
  await reader.runAll(walk.sync);
  await reader.runAll(walk.comparison);
  await Promise.all(fleet.map((process) => process.stop()));
  await reader.runAll(walk.end);
});

interface FleetReply {
  instances: { state: string }[];
}

/** Somebody who follows the documents in an empty folder, with free ports in place of theirs. */
class Reader implements AsyncDisposable {
  readonly #closers = new Closers();
  readonly #folder = ScratchFolder.create('documents');
  readonly #ports = new Map<number, number>();

  static async start(): Promise<Reader> {
    const reader = new Reader();
    for (const port of documentedPorts) reader.#ports.set(port, await freePort());
    onTestFinished(({ task }) => {
      if (task.result?.state !== 'fail') return;
      reader.#folder.keep();
      task.meta.logs = reader.#folder.path;
    });
    await reader.#writeFiles();
    return reader;
  }

  /** Starts each command as a process that stays, and waits until it is ready. */
  async startAll(steps: readonly Step[]): Promise<Child[]> {
    const started: Child[] = [];
    for (const { command, prints } of steps) {
      const name = command.replace(/[^a-z0-9]+/gi, '-');
      // The shell gives way to the program, which then takes the signals.
      const child = await Child.start({
        name,
        command: 'bash',
        args: ['-c', `cd "$FOLDER" && exec ${this.#written(command)}`],
        env: this.#environment(),
        ready: prints,
        readyWithin_ms: commandWithin_ms,
        logFile: this.#folder.file(`${name}.log`),
      });
      started.push(this.#closers.use(child));
    }
    return started;
  }

  /** Runs each command to its end, and compares what it prints. */
  async runAll(steps: readonly Step[]): Promise<void> {
    for (const { command, prints, code = 0 } of steps) {
      const ended = await this.#run(this.#written(command));
      expect.soft({ command, ...ended }).toEqual({ command, code, output: expect.stringMatching(prints) as string });
    }
  }

  /** Waits until the coordinator sees both instances. */
  async untilFleetIsWhole(): Promise<void> {
    const states = async () => {
      const reply = (await (await fetch(`${this.#coordinator()}/api/v1/instances`)).json()) as FleetReply;
      return reply.instances.map(({ state }) => state);
    };
    await expect.poll(states, { timeout: commandWithin_ms }).toEqual(['IDLE', 'IDLE']);
  }

  /** What the command line selects, and more. */
  async fillSource(): Promise<void> {
    const client = this.#closers.use(new MongoClient(this.#clusters().cluster0));
    for (const [database, name] of [
      ['shop', 'orders'],
      ['shop', 'tmp'],
      ['crm', 'contacts'],
    ] as const)
      await client
        .db(database)
        .collection(name)
        .insertMany(Array.from({ length: 100 }, (_, number) => ({ number })));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closers[Symbol.asyncDispose]();
    this.#folder[Symbol.dispose]();
  }

  #port(documented: number): number {
    return this.#ports.get(documented) ?? documented;
  }

  #coordinator(): string {
    return `http://127.0.0.1:${this.#port(27180)}`;
  }

  #clusters(): { cluster0: string; cluster1: string } {
    const [cluster0, cluster1] = [27100, 27200].map((port) => `mongodb://127.0.0.1:${this.#port(port)}/`);
    return { cluster0: cluster0 ?? '', cluster1: cluster1 ?? '' };
  }

  /** A command with this reader's ports, connection strings and folder. */
  #written(command: string): string {
    const { cluster0, cluster1 } = this.#clusters();
    const ported = [...this.#ports].reduce((text, [from, to]) => text.replaceAll(String(from), String(to)), command);
    return ported
      .replace('--save', `--port ${this.#port(6379)} --save`)
      .replace(/(--(?:cluster0|source)) mongodb:\/\/…/, `$1 ${cluster0}`)
      .replace(/(--(?:cluster1|destination)) mongodb:\/\/…/, `$1 ${cluster1}`)
      .replaceAll('/run/secrets', this.#folder.path);
  }

  /** The files that the documents speak of; `convoy.json` is the README's own, with other addresses. */
  async #writeFiles(): Promise<void> {
    const [, shown = ''] = /```json\n([\s\S]*?"cluster0"[\s\S]*?)```/.exec(readText('README.md')) ?? [];
    const redis = `redis://127.0.0.1:${this.#port(6379)}`;
    const receiver = await NotificationReceiver.start();
    this.#closers.defer(() => {
      receiver.close();
      return Promise.resolve();
    });
    const receivers = [{ name: 'pager', url: receiver.url, secret: receiverSecret }];
    const { cluster0, cluster1 } = this.#clusters();
    const files = {
      'convoy.json': JSON.stringify({ ...(JSON.parse(shown) as object), ...this.#clusters(), redis }),
      'coordinator.json': JSON.stringify({ redis, notify: { receivers } }),
      'start.json': JSON.stringify({ source: 'cluster0', destination: 'cluster1' }),
      'exclude.json': JSON.stringify([{ database: 'shop_old' }]),
      token: 'a long random word',
      // No progress bar in the output.
      '.curlrc': 'silent\nshow-error\n',
      cluster0,
      cluster1,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(this.#folder.file(name), text);
  }

  #environment(): Record<string, string> {
    return {
      ...withoutRedisVariable,
      FOLDER: this.#folder.path,
      PATH: [`${root}node_modules/.bin`, dirname(process.execPath), process.env['PATH']].join(delimiter),
      CONVOY_URL: this.#coordinator(),
      // Of the coordinator alone, whose command names no port.
      CONVOY_PORT: String(this.#port(27180)),
      CURL_HOME: this.#folder.path,
      // State of convoy verify.
      XDG_STATE_HOME: this.#folder.path,
      NO_COLOR: '1',
    };
  }

  #run(command: string): Promise<{ code: number; output: string }> {
    const options = {
      cwd: this.#folder.path,
      timeout: commandWithin_ms,
      env: { ...process.env, ...this.#environment(), FORCE_COLOR: undefined },
    };
    return new Promise((resolve) => {
      execFile('bash', ['-c', command], options, (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : typeof error.code === 'number' ? error.code : 1,
          output: stdout + stderr,
        });
      });
    });
  }
}
