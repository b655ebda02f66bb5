import type { ReleaseSeries } from '@convoy/simulator/node/server-version';
import { describe, expect, test } from 'vitest';
import { allProbes } from '../../../src/probes/all-probes.js';
import { isFor, type Probe } from '../../../src/probes/framework/probe.js';
import { type ProbeReport, runProbes } from '../../../src/probes/framework/run-probes.js';
import type { Observer } from '../../../src/probes/framework/server.js';
import type { Distortion } from './distortions/distortion.js';
import { readingDistortions } from './distortions/reading.js';
import { streamingDistortions } from './distortions/streaming.js';
import { writingDistortions } from './distortions/writing.js';
import { type Probed, type ProbedOptions, startProbed } from './probed-cluster.js';
import { simulatorDiffers } from './simulator-differs.js';

const releases = ['5.0', '6.0', '7.0', '8.0'] as const satisfies readonly ReleaseSeries[];
const distortions: Readonly<Record<string, Distortion>> = { ...readingDistortions, ...streamingDistortions, ...writingDistortions };
const signal = new AbortController().signal;

function namesOf({ findings }: ProbeReport, outcome: ProbeReport['findings'][number]['outcome']): string[] {
  return findings.filter((finding) => finding.outcome === outcome).map(({ name }) => name);
}

/** What a probe needs is missing, not the time. */
function expectReasons({ findings, isInTime, left }: ProbeReport): void {
  const reasons = findings.flatMap((finding) => (finding.outcome === 'notTried' ? [finding.reason] : []));
  const known = /^it is about|^the cluster has no access control$|^the cluster has one shard only$/;
  expect(reasons.filter((reason) => !known.test(reason))).toEqual([]);
  expect(isInTime).toBe(true);
  expect(left).toBeNull();
}

/** Every release on both topologies, with users on one of them; all four of the recorded release. */
const clusters: readonly (ProbedOptions & { release: ReleaseSeries })[] = releases.flatMap((release) => [
  { release, topology: 'sharded' as const, withUsers: true },
  { release, topology: 'replicaSet' as const, withUsers: false },
  ...(release === '5.0' ? [{ release, topology: 'sharded' as const, withUsers: false }, { release, topology: 'replicaSet' as const, withUsers: true }] : []),
]);

describe.each(clusters)('release $release, $topology, users: $withUsers', (options) => {
  test('what Convoy relies on holds', async () => {
    await using probed = await startProbed(options);
    const report = await runProbes({ reached: probed.reached, probes: allProbes, allowsDisturbing: true, signal });
    expectReasons(report);
    const wrong = report.findings.filter((finding) => finding.outcome === 'doesNotHold' && !isKnown(probed, options.release, finding.name));
    expect(wrong).toEqual([]);
    const tried = new Set([...namesOf(report, 'holds'), ...namesOf(report, 'doesNotHold')]);
    const outlived = probed.backend === 'simulator' ? (simulatorDiffers[options.release] ?? []).filter((name) => tried.has(name) && namesOf(report, 'holds').includes(name)) : [];
    expect(outlived).toEqual([]);
  });
});

function isKnown({ backend }: Probed, release: ReleaseSeries, name: string): boolean {
  return backend === 'simulator' && simulatorDiffers[release]?.includes(name) === true;
}

/** On which cluster each probe is seen to fail: the first for which it is. */
function stageOf(probe: Probe): ProbedOptions & { release: ReleaseSeries } {
  const release = releases.find((series) => isFor(probe, [...series.split('.').map(Number), 99] as unknown as readonly [number, number, number]) && simulatorDiffers[series]?.includes(probe.name) !== true);
  const topology = probe.topology ?? 'sharded';
  return { release: release ?? '8.0', topology, withUsers: topology === 'sharded' };
}

describe('each probe', () => {
  test('has a distortion of its own', () => {
    expect(Object.keys(distortions).sort()).toEqual(allProbes.map(({ name }) => name).sort());
  });

  test.each(clusters)('notices servers that do otherwise: release $release, $topology, users: $withUsers', async (options) => {
    const probes = allProbes.filter((probe) => JSON.stringify(stageOf(probe)) === JSON.stringify(options));
    if (probes.length === 0) return;
    await using probed = await startProbed(options);
    let distort: Distortion = (_, reply) => reply;
    const observe: Observer = (asked, reply) => distort(asked, reply);
    const onBegin = ({ name }: Probe): void => {
      distort = distortions[name] ?? distort;
    };
    const report = await runProbes({ reached: probed.reached, probes, allowsDisturbing: true, patience_ms: 500, observe, onBegin, signal });
    expect([...namesOf(report, 'holds'), ...namesOf(report, 'notTried')]).toEqual([]);
  });
});
