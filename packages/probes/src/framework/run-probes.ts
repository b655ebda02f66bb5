import { type Document, MongoError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownReply } from './expectation.js';
import { DoesNotHold, type Finding, isFor, NotTried, type Outcome, type Probe, releasesText } from './probe.js';
import type { Reached } from './reach.js';
import { makeScratch, newScratchName, removeLeftBehind, removeScratch } from './scratch-database.js';
import { Fixture, type FixtureOptions } from './fixture.js';
import { type Observer, plain } from './server.js';

/** Each probe runs some ten commands; one that moves chunks takes some seconds on a busy cluster. */
const probe_ms = 30_000;
/** All of them take about a minute; on a slower cluster, the remaining ones are not tried. */
const run_ms = 600_000;

/** A router waits for the shard that is behind, which writes a tick every ten seconds. */
const patienceDefault_ms = 15_000;

interface ProbeRun {
  readonly reached: Reached;
  readonly probes: readonly Probe[];
  /** Also runs the probes that other users notice. */
  readonly allowsDisturbing?: boolean;
  readonly signal: AbortSignal;
  /** How long a probe reads a stream for an event that should not arrive. */
  readonly patience_ms?: number;
  /** Sees the commands and replies of probes, and may change the replies. */
  readonly observe?: Observer;
  /** Receives every reply unchanged, with the types of its numbers. */
  readonly record?: FixtureOptions['record'];
  readonly onBegin?: (probe: Probe) => void;
  readonly onFinding?: (finding: Finding) => void;
}

/** The result of all probes. */
export interface ProbeReport {
  readonly version: string;
  readonly topology: Reached['topology'];
  readonly hasUsers: boolean;
  readonly duration_ms: number;
  /** False if a probe, or all of them, exceeded the time limit. */
  readonly isInTime: boolean;
  readonly findings: readonly Finding[];
  /** Scratch databases of earlier runs: the removed ones, and those of runs that may still be active. */
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  /** The run's own scratch database, if it could not be removed. */
  readonly left: string | null;
}

/**
 * Runs probes one after the other in a scratch database, which it removes at the end in any case.
 * @throws ConvoyError `permissionMissing` if no scratch database can be created; the signal's reason; the driver's
 * errors
 */
export async function runProbes(run: ProbeRun): Promise<ProbeReport> {
  const { reached, probes, signal, onFinding, onBegin, record = () => undefined } = run;
  const started_ms = performance.now();
  const { removed, kept } = await removeLeftBehind(reached, signal);
  const db = newScratchName();
  const findings: Finding[] = [];
  let left: string | null = null;
  const fixtures: Fixtures = {
    db,
    shared: { split: null },
    patience_ms: run.patience_ms ?? patienceDefault_ms,
    whole: AbortSignal.timeout(run_ms),
  };
  try {
    refuse(await makeScratch(reached, db, { endsWithin_ms: run_ms + probe_ms, record, signal }));
    for (const probe of probes) {
      onBegin?.(probe);
      const finding = await tried(run, probe, fixtures);
      findings.push(finding);
      onFinding?.(finding);
    }
  } finally {
    if (!(await removeScratch(reached, db))) left = db;
  }
  const [version, duration_ms] = [reached.version.join('.'), Math.round(performance.now() - started_ms)];
  const isInTime = !findings.some((finding) => finding.outcome === 'notTried' && finding.reason === late);
  return {
    version,
    topology: reached.topology,
    hasUsers: reached.hasUsers,
    duration_ms,
    isInTime,
    findings,
    removed,
    kept,
    left,
  };
}

function refuse(reply: Document): void {
  if (Number(reply.ok) === 1) return;
  throw new ConvoyError(
    'permissionMissing',
    `The login may not create and remove a scratch database: ${shownReply(plain(reply))}. Grant it the roles ` +
      'readWriteAnyDatabase, dbAdminAnyDatabase, clusterManager and clusterMonitor, or root.',
  );
}

const late = `not within ${probe_ms / 1000} s, or not within ${run_ms / 1000} s with the others`;

/** What the fixtures of a run have in common. */
interface Fixtures extends Pick<FixtureOptions, 'db' | 'shared' | 'patience_ms'> {
  readonly whole: AbortSignal;
}

async function tried(run: ProbeRun, probe: Probe, fixtures: Fixtures): Promise<Finding> {
  const { name, sentence, otherwise } = probe;
  const started_ms = performance.now();
  const outcome = await outcomeOf(run, probe, fixtures);
  return { name, sentence, otherwise, ...outcome, duration_ms: Math.round(performance.now() - started_ms) };
}

async function outcomeOf(run: ProbeRun, probe: Probe, { whole, ...common }: Fixtures): Promise<Outcome> {
  const reason = whole.aborted ? late : obstacle(run, probe);
  if (reason !== null) return { outcome: 'notTried', reason };
  const signal = AbortSignal.any([run.signal, whole, AbortSignal.timeout(probe_ms)]);
  const fixture = new Fixture(probe.name, {
    reached: run.reached,
    ...common,
    observe: run.observe ?? ((_, reply) => reply),
    record: run.record ?? (() => undefined),
    signal,
  });
  try {
    await probe.run(fixture);
    return { outcome: 'holds' };
  } catch (error) {
    run.signal.throwIfAborted();
    if (error instanceof DoesNotHold)
      return { outcome: 'doesNotHold', expected: error.expected, answered: error.answered };
    if (error instanceof NotTried) return { outcome: 'notTried', reason: error.message };
    if (signal.aborted) return { outcome: 'notTried', reason: late };
    if (error instanceof MongoError) return { outcome: 'notTried', reason: `no answer: ${error.name}` };
    // A reply of a form that the probe could not read.
    return { outcome: 'doesNotHold', expected: probe.sentence, answered: String(error) };
  } finally {
    await fixture.close();
  }
}

/** Why a probe cannot be tried on these servers; null if it can. */
function obstacle({ reached, allowsDisturbing = false }: ProbeRun, probe: Probe): string | null {
  const { topology, needs = [] } = probe;
  if (!isFor(probe, reached.version)) return `it is about other releases: ${releasesText(probe)}`;
  if (topology !== undefined && topology !== reached.topology)
    return `it is about ${topology === 'sharded' ? 'sharded clusters' : 'replica sets'}`;
  if (needs.includes('disturbing') && !allowsDisturbing)
    return 'it would disturb other users: --allow-disturbing tries it';
  if (needs.includes('users') && !reached.hasUsers) return 'the cluster has no access control';
  if (needs.includes('twoShards') && reached.shardIds.length < 2)
    return reached.topology === 'sharded' ? 'the cluster has only one shard' : 'it is about sharded clusters';
  if (needs.includes('direct') && reached.shards.length === 0)
    return `the shards cannot be reached directly: ${reached.withoutShards}`;
  return null;
}
