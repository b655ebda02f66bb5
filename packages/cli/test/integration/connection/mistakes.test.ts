import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { asUnavailable } from '@convoy/instance/cluster/connection-failure';
import { openCluster } from '@convoy/instance/cluster/open-cluster';
import { writeFileSync } from 'node:fs';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { isFullRun, testSeed } from '../../../../../test/seed.js';
import { runCommand } from '../../command-host.js';
import { mistakes, type Places, startPlaces, unreadable } from './mistakes.js';

let places: Places;
let files = 0;
const folder = ScratchFolder.create('mistakes');

beforeAll(async () => {
  places = await startPlaces();
});

afterAll(async () => {
  folder[Symbol.dispose]();
  await places.close();
});

const sampleEvery = 3;
/** The command shows what the client says: a usual run has a third of them, by the seed. */
const checkedMistakes = mistakes.filter((_, index) => isFullRun || index % sampleEvery === testSeed % sampleEvery);

/** A destination that cannot be reached, either. */
const cluster1 = 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=4000';
const refusal =
  'cannot be reached: HOST: the connection was refused (ECONNREFUSED). Check the port, and that the server runs and ' +
  'listens on this address.';

const withoutHosts = (text: string): string => text.trim().replaceAll(/127\.0\.0\.1:\d+/g, 'HOST');

/** Network failures name the role of the cluster, since a command was about both. */
const start = (error: string): string => (error.endsWith('Unavailable') ? 'The source cluster0' : 'cluster0');

describe('a mistake in a connection string', () => {
  it.concurrent.each(mistakes)('is explained by the client: $name', async ({ connectionString, error, sentence }) => {
    const opening = openCluster('cluster0', connectionString(places), {
      direct: false,
      signal: new AbortController().signal,
    });
    const thrown = await opening.then(
      () => null,
      (failure: unknown) => asUnavailable('source', 'cluster0', failure) as Error,
    );
    expect(withoutHosts(thrown?.message ?? 'no failure')).toBe(`${error}: ${start(error)} cannot be ${sentence}`);
  });

  it.concurrent.each(checkedMistakes)(
    'is explained by convoy check, beside the other cluster: $name',
    async ({ connectionString, error, sentence }) => {
      const checked = await check(connectionString(places), '--json');
      expect(checked).toMatchObject({ code: 3, stderr: '' });
      expect(JSON.parse(withoutHosts(checked.stdout))).toMatchObject({
        canStart: false,
        items: [
          { check: 'clusters', result: 'failed', error, description: `${start(error)} cannot be ${sentence}` },
          { error: 'destinationUnavailable', description: `The destination cluster1 ${refusal}` },
        ],
      });
    },
  );

  it.concurrent.each(unreadable)(
    'is refused before anything connects: %s',
    async (_name, connectionString, problem) => {
      const checked = await check(connectionString);
      expect(checked).toMatchObject({ code: 1, stderr: `invalidConfiguration: --cluster0-file: ${problem}\n` });
    },
  );
});

describe('other commands explain it in the same words', () => {
  const refused = (what: string): string => `${what} ${refusal}`;

  /** Either cluster can have either role when writes are allowed again. */
  const unnamed = 'destinationUnavailable: cluster1';

  it.concurrent.each([
    [
      'verify',
      () => ['--source', to(places.refusing), '--destination', cluster1],
      'sourceUnavailable: The source cluster0',
    ],
    [
      'cleanup',
      () => ['--cluster0', cluster1, '--cluster1', to(places.refusing)],
      'destinationUnavailable: The destination cluster1',
    ],
    ['unblock', () => ['cluster1', '--cluster0', cluster1, '--cluster1', to(places.refusing)], unnamed],
    ['probe', () => ['--cluster', to(places.refusing)], 'sourceUnavailable: The cluster'],
  ])('convoy %s', async (name, args, what) => {
    const { stderr, code } = await runCommand(name, ...args());
    expect(code).toBe(3);
    expect(withoutHosts(stderr)).toBe(refused(what));
  });

  it('convoy probe, of a refused login', async () => {
    const wrong = `mongodb://migrator:wrong@${places.router}/?authSource=admin`;
    const { stderr } = await runCommand(
      'probe',
      '--cluster0-file',
      fileWith(wrong),
      '--cluster1-file',
      fileWith(wrong),
    );
    expect(stderr).toBe(
      'authenticationFailed: A cluster rejected the user or password of its connection string. Correct them, and ' +
        'percent-encode special characters.\n',
    );
  });
});

function to(host: string): string {
  return `mongodb://${host}/?serverSelectionTimeoutMS=4000`;
}

/** In a file, since the list of processes shows flags. */
function fileWith(connectionString: string): string {
  files += 1;
  const file = folder.file(`cluster-${files}`);
  writeFileSync(file, connectionString);
  return file;
}

function check(connectionString: string, ...flags: string[]): ReturnType<typeof runCommand> {
  return runCommand('check', ...flags, '--cluster0-file', fileWith(connectionString), '--cluster1', cluster1);
}
