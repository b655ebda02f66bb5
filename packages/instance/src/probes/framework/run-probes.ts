import { type Document, MongoError } from 'mongodb';
import { ConvoyError } from '@convoy/api/errors/convoy-error';
import { shownReply } from './expectation.js';
import { DoesNotHold, type Finding, isFor, NotTried, type Outcome, type Probe, releasesText } from './probe.js';
import type { Reached } from './reach.js';
import { makeScratch, newScratchName, removeLeftBehind, removeScratch } from './scratch-database.js';
import { Fixture, type FixtureOptions } from './fixture.js';
import { type Observer, plain } from './server.js';

/** Each probe asks some ten commands; one that moves chunks takes some seconds of a busy cluster. */
const probe_ms = 30_000;
/** All of them take about a minute; on what is slower, the rest is not tried. */
const run_ms = 600_000;

/** A router waits for the shard that is behind, which writes by itself every ten seconds. */
const patienceDefault_ms = 15_000;

export interface ProbeRun {
  readonly reached: Reached;
  readonly probes: readonly Probe[];
  /** Tries those that others notice, too. */
  readonly allowsDisturbing?: boolean;
  readonly signal: AbortSignal;
  /** How long a stream is read for what does not come. */
  readonly patience_ms?: number;
  /** Sees what probes ask and are answered, and may answer otherwise. */
  readonly observe?: Observer;
  /** Gets every reply as it came, with the types of its numbers. */
  readonly record?: FixtureOptions['record'];
  readonly onBegin?: (probe: Probe) => void;
  readonly onFinding?: (finding: Finding) => void;
}

/** What came of all probes. */
export interface ProbeReport {
  readonly version: string;
  readonly topology: Reached['topology'];
  readonly hasUsers: boolean;
  readonly duration_ms: number;
  /** False when a probe, or all of them, took longer than they may. */
  readonly isInTime: boolean;
  readonly findings: readonly Finding[];
  /** Scratch databases of earlier runs: those that were removed, and those of runs that may still go on. */
  readonly removed: readonly string[];
  readonly kept: readonly string[];
  /** The run's own scratch database, when it could not be removed. */
  readonly left: string | null;
}

/**
 * Tries probes one after the other in a scratch database, which is removed however the run ends.
 * @throws ConvoyError `permissionMissing` when no scratch database can be made; the signal's reason; the driver's errors
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
  if (Number(reply['ok']) === 1) return;
  throw new ConvoyError(
    'permissionMissing',
    `The login may not make and remove a scratch database: ${shownReply(plain(reply))}; it needs the roles readWriteAnyDatabase, dbAdminAnyDatabase, clusterManager and clusterMonitor, or root.`,
  );
}

const late = `not within ${probe_ms / 1000} s, or not within ${run_ms / 1000} s with the others`;

/** What the scenes of a run have in common. */
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
    // An answer of another form than the probe could read.
    return { outcome: 'doesNotHold', expected: probe.sentence, answered: String(error) };
  } finally {
    await fixture.close();
  }
}

/** Why a probe cannot be tried on these servers; null when it can. */
function obstacle({ reached, allowsDisturbing = false }: ProbeRun, probe: Probe): string | null {
  const { topology, needs = [] } = probe;
  if (!isFor(probe, reached.version)) return `it is about other releases: ${releasesText(probe)}`;
  if (topology !== undefined && topology !== reached.topology)
    return `it is about ${topology === 'sharded' ? 'sharded clusters' : 'replica sets'}`;
  if (needs.includes('disturbing') && !allowsDisturbing) return 'it would disturb others: --allow-disturbing tries it';
  if (needs.includes('users') && !reached.hasUsers) return 'the cluster has no access control';
  if (needs.includes('twoShards') && reached.shardIds.length < 2)
    return reached.topology === 'sharded' ? 'the cluster has one shard only' : 'it is about sharded clusters';
  if (needs.includes('direct') && reached.shards.length === 0)
    return `the shards are not reached directly: ${reached.withoutShards}`;
  return null;
}
