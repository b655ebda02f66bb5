import { type ReleaseSeries, ServerVersion } from '@convoy/simulator/internal/node/server-version';
import { serversFor } from '@convoy/testbed/cluster/server-version';
import type { Servers } from '@convoy/testbed/cluster/servers-of';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testSeed } from '../../../../test/seed.js';
import { allProbes } from '../../src/all-probes.js';
import { isFor, type Probe } from '../../src/framework/probe.js';
import type { Reached } from '../../src/framework/reach.js';
import { type ProbeReport, runProbes } from '../../src/framework/run-probes.js';
import type { Observer } from '../../src/framework/server.js';
import type { Distortion } from './distortions/distortion.js';
import { readingDistortions } from './distortions/reading.js';
import { streamingDistortions } from './distortions/streaming.js';
import { writingDistortions } from './distortions/writing.js';
import { type Probed, type ProbedOptions, startProbed } from './probed-cluster.js';

const releases = ['5.0', '6.0', '7.0', '8.0'] as const satisfies readonly ReleaseSeries[];
const distortions: Readonly<Record<string, Distortion>> = {
  ...readingDistortions,
  ...streamingDistortions,
  ...writingDistortions,
};
const signal = new AbortController().signal;

function namesOf({ findings }: ProbeReport, outcome: ProbeReport['findings'][number]['outcome']): string[] {
  return findings.filter((finding) => finding.outcome === outcome).map(({ name }) => name);
}

/** The probe was skipped for a missing requirement, not for lack of time. */
function expectReasons({ findings, isInTime, left }: ProbeReport): void {
  const reasons = findings.flatMap((finding) => (finding.outcome === 'notTried' ? [finding.reason] : []));
  const known = /^it is about|^the cluster has no access control$|^the cluster has only one shard$/;
  expect(reasons.filter((reason) => !known.test(reason))).toEqual([]);
  expect(isInTime).toBe(true);
  expect(left).toBeNull();
}

/** A cluster of a release, and the probes that run on it. */
interface Stage extends Required<ProbedOptions> {
  readonly backend: Servers['kind'];
  readonly probes: readonly Probe[];
}

/** What the clusters of each release are started from. */
const backends = new Map<ReleaseSeries, Stage['backend']>();
for (const release of releases) backends.set(release, (await serversFor(release)).kind);

function stage(release: ReleaseSeries, topology: Reached['topology'], withUsers: boolean, probes = allProbes): Stage {
  return { release, topology, withUsers, backend: backends.get(release) ?? 'simulator', probes };
}

const sampleEvery = 4;

/**
 * Two shards with users run every probe that is not only about replica sets; the releases between the oldest and the
 * newest run those that begin or end there, and a fourth of the others. A full run, and real servers, run all on both,
 * with users and without.
 */
const stages: readonly Stage[] = releases.flatMap((release, index) => {
  const isFull = process.env['CONVOY_TEST_FULL'] === '1' || backends.get(release) !== 'simulator';
  const ofSets = allProbes.filter(({ topology }) => topology === 'replicaSet');
  const previous = releases[index - 1];
  const isBetween = previous !== undefined && index < releases.length - 1;
  return [
    stage(release, 'sharded', true, isBetween && !isFull ? sampled(release, previous) : allProbes),
    stage(release, 'replicaSet', false, isFull ? allProbes : ofSets),
    ...(isFull ? [stage(release, 'sharded', false), stage(release, 'replicaSet', true)] : []),
  ];
});

/** The probes that one of two releases has and the other has not, and some of the others, by the seed. */
function sampled(release: ReleaseSeries, previous: ReleaseSeries): Probe[] {
  const [here, before] = [versionOf(release), versionOf(previous)];
  return allProbes.filter(
    (probe, index) => isFor(probe, here) !== isFor(probe, before) || index % sampleEvery === testSeed % sampleEvery,
  );
}

/** Whether probes are shown to fail here: on the first cluster on which they hold. */
function isShownOn(probe: Probe, { release, topology, withUsers }: Stage): boolean {
  const first = releases.find((series) => isFor(probe, versionOf(series)));
  return release === first && topology === (probe.topology ?? 'sharded') && withUsers === (topology === 'sharded');
}

function versionOf(series: ReleaseSeries): readonly [number, number, number] {
  const [major = 0, minor = 0, patch = 0] = ServerVersion.parse(series).text.split('.').map(Number);
  return [major, minor, patch];
}

test('each probe has a distortion', () => {
  expect(Object.keys(distortions).sort()).toEqual(allProbes.map(({ name }) => name).sort());
});

describe.each(stages)('release $release, $topology, users: $withUsers, $backend', (options) => {
  const { probes, backend } = options;
  let probed: Probed;

  beforeAll(async () => {
    probed = await startProbed(options);
    expect(probed.backend).toBe(backend);
  });

  afterAll(() => probed[Symbol.asyncDispose]());

  test('what Convoy relies on holds', async () => {
    const report = await runProbes({ reached: probed.reached, probes, allowsDisturbing: true, signal });
    expectReasons(report);
    expect(report.findings.filter(({ outcome }) => outcome === 'doesNotHold')).toEqual([]);
  });

  const shown = probes.filter((probe) => isShownOn(probe, options));
  if (shown.length === 0) return;
  test('each probe detects servers that contradict it', async () => {
    let distort: Distortion = (_, reply) => reply;
    const observe: Observer = (asked, reply) => distort(asked, reply);
    const onBegin = ({ name }: Probe): void => {
      distort = distortions[name] ?? distort;
    };
    const report = await runProbes({
      reached: probed.reached,
      probes: shown,
      allowsDisturbing: true,
      patience_ms: 500,
      observe,
      onBegin,
      signal,
    });
    expect([...namesOf(report, 'holds'), ...namesOf(report, 'notTried')]).toEqual([]);
  });
});
