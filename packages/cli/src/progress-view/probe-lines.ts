import { type Finding, type Probe, releasesText } from '@convoy/probes/framework/probe';
import { needsText } from '@convoy/probes/release-table';
import type { ProbeReport } from '@convoy/probes/framework/run-probes';

/** Word and sign of each outcome; the sign never stands alone. */
const outcomeWords: Readonly<Record<Finding['outcome'], string>> = {
  holds: '✓ holds',
  doesNotHold: '✗ does not hold',
  notTried: '- not tried',
};

const wordWidth = Math.max(...Object.values(outcomeWords).map((word) => word.length));

/** One line per probe. */
export function findingLine(finding: Finding): string {
  const more = finding.outcome === 'notTried' ? `: ${finding.reason}` : '';
  return `${outcomeWords[finding.outcome].padEnd(wordWidth)}  ${finding.name}${more}`;
}

/** The result of a run as text: failing probes in full, then counts. */
export function reportLines({
  findings,
  version,
  topology,
  hasUsers,
  duration_ms,
  removed,
  kept,
  left,
}: ProbeReport): string[] {
  const wrong = findings.flatMap((finding) => (finding.outcome === 'doesNotHold' ? ['', ...wrongLines(finding)] : []));
  const counts = (['holds', 'doesNotHold', 'notTried'] as const).map(
    (outcome) => findings.filter((finding) => finding.outcome === outcome).length,
  );
  const [holds = 0, doNotHold = 0, notTried = 0] = counts;
  const servers =
    `${topology === 'sharded' ? 'Sharded cluster' : 'Replica set'}, ${version}, ` +
    `${hasUsers ? 'with' : 'without'} access control`;
  return [
    ...wrong,
    '',
    `${servers}: ${holds} hold, ${doNotHold} do not, ${notTried} were not tried; ${(duration_ms / 1000).toFixed(1)} s.`,
    ...removed.map((name) => `Removed ${name} of an earlier run.`),
    ...kept.map((name) => `Kept ${name}: its run may still be in progress.`),
    ...(left === null ? [] : [`The scratch database ${left} was not removed. Drop it, or run the probes again.`]),
  ];
}

function wrongLines({
  name,
  sentence,
  otherwise,
  expected,
  answered,
}: Extract<Finding, { outcome: 'doesNotHold' }>): string[] {
  return [`${name}: ${sentence}`, `  expected  ${expected}`, `  answered  ${answered}`, `  ${otherwise}`];
}

/** All probes with their sentences and topics. */
export function listLines(probes: readonly Probe[]): string[] {
  return probes.flatMap((probe) => [
    probe.name,
    `  ${probe.sentence}`,
    `  releases: ${releasesText(probe)}; servers: ${needsText(probe)}; from ${probe.source}`,
  ]);
}
