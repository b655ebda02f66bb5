import { writeFileSync } from 'node:fs';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { connectionFailure, unreachable } from '@convoy/instance/cluster/connection-failure';
import { parseInstanceConfig } from '@convoy/instance/config/instance-config';
import { isClusterName } from '@convoy/instance/lifecycle/migration/clusters';
import { allProbes } from '@convoy/probes/all-probes';
import type { Probe } from '@convoy/probes/framework/probe';
import { reach, type Reached } from '@convoy/probes/framework/reach';
import { Recording } from '@convoy/probes/framework/recording';
import { type ProbeReport, runProbes } from '@convoy/probes/framework/run-probes';
import { coloured, colouredLines } from '../progress-view/colours.js';
import { findingLine, listLines, reportLines } from '../progress-view/probe-lines.js';
import { exitCodes } from './exit-code.js';
import { interruption } from './interruption.js';
import { type Flags, clusterSettings, settingFlags, sourcesOf } from './settings.js';

/** Flags of `convoy probe`. */
export interface ProbeFlags extends Flags {
  readonly cluster: string;
  readonly only?: readonly string[];
  readonly allowDisturbing?: boolean;
  readonly record?: string;
  readonly list?: boolean;
  readonly json?: boolean;
}

/**
 * Runs the probes and prints their results.
 * @returns the exit code
 * @throws ConvoyError `invalidRequest` for an unknown probe; whatever `reach` and `runProbes` throw
 */
export async function probeCluster(flags: ProbeFlags): Promise<number> {
  const probes = chosenProbes(flags.only);
  if (flags.list) {
    console.log(flags.json ? JSON.stringify(probes) : listLines(probes).join('\n'));
    return exitCodes.done;
  }
  const signal = interruption('Interrupted: removing the scratch database …');
  const reached = await connected(flags, signal);
  try {
    const report = await tried(flags, reached, probes, signal);
    console.log(flags.json ? JSON.stringify(report) : colouredLines(reportLines(report)));
    return exitCodeOf(report);
  } finally {
    await reached.close();
  }
}

function chosenProbes(only: readonly string[] | undefined): readonly Probe[] {
  const unknown = only?.find((name) => !allProbes.some((probe) => probe.name === name));
  if (unknown !== undefined)
    throw new ConvoyError('invalidRequest', `There is no probe ${unknown}. convoy probe --list names all.`);
  return only === undefined ? allProbes : allProbes.filter(({ name }) => only.includes(name));
}

async function tried(
  flags: ProbeFlags,
  reached: Reached,
  probes: readonly Probe[],
  signal: AbortSignal,
): Promise<ProbeReport> {
  const recording = flags.record === undefined ? null : new Recording(reached);
  const isShown = flags.json !== true;
  const report = await runProbes({
    reached,
    probes,
    signal,
    allowsDisturbing: flags.allowDisturbing ?? false,
    ...(recording !== null && { record: recording.add, onBegin: recording.begin }),
    onFinding: (finding) => {
      if (isShown) console.log(coloured(findingLine(finding)));
    },
  });
  if (recording !== null && flags.record !== undefined) writeFileSync(flags.record, recording.text(), { mode: 0o600 });
  return report;
}

/**
 * Connects by a cluster name, with the settings' login for its shards, or by a connection string.
 * @throws ConvoyError `sourceUnavailable` when the cluster does not respond
 */
async function connected(flags: ProbeFlags, signal: AbortSignal): Promise<Reached> {
  const { cluster } = flags;
  const isNamed = isClusterName(cluster);
  const given = isNamed
    ? settingFlags(flags, clusterSettings)
    : { ...settingFlags(flags, { shards: clusterSettings.shards }), cluster0: cluster, cluster1: cluster };
  const config = parseInstanceConfig(sourcesOf(given));
  const name = isNamed ? cluster : 'cluster0';
  const login = config.shards[name];
  try {
    return await reach(
      config[name].reveal(),
      login === undefined ? undefined : { ...login, password: login.password.reveal() },
      signal,
    );
  } catch (error) {
    const failure = connectionFailure(error);
    if (failure === null) throw error;
    throw new ConvoyError('sourceUnavailable', unreachable('The cluster', failure), { cause: error });
  }
}

/** Failing probes determine the code first, then timeouts. */
function exitCodeOf({ findings, isInTime }: ProbeReport): number {
  if (findings.some(({ outcome }) => outcome === 'doesNotHold')) return exitCodes.failed;
  if (!isInTime) return exitCodes.notInTime;
  return findings.some(({ outcome }) => outcome === 'holds') ? exitCodes.done : exitCodes.failed;
}
