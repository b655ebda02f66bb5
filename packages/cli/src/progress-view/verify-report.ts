import type { DescribedCluster, EndedComparison } from '@convoy/instance/process/comparison';
import type { ComparisonFilter } from '@convoy/instance/verify/standalone/compare-clusters';
import type { ComparisonOptions } from '@convoy/instance/verify/standalone/comparison-dependencies';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import { formatBytes, formatCount } from './quantity.js';
import { mismatchLine, verdictLine } from './verify-lines.js';

/** What a report says besides the result itself. */
export interface ReportContext {
  filter: ComparisonFilter;
  options: ComparisonOptions;
  /** The first mismatches. */
  shown: readonly DescribedMismatch[];
  /** File with all mismatches, when one was asked for. */
  mismatchFile: string | null;
}

/** The report for whoever signs a change ticket, as Markdown: what was compared, when, how, and with what result. */
export function verifyReport(ended: EndedComparison, context: ReportContext): string {
  const sections = [
    ['# Comparison of two MongoDB clusters', '', `**${verdictLine(ended)}**`],
    ['## What was compared', '', ...comparedLines(ended, context)],
    ['## How', '', ...ruleLines(ended, context.options)],
    [
      '## Definitions',
      '',
      ...listOr(
        'No differences.',
        ended.differences.map(({ kind, namespace, detail }) => `${code(namespace)} ${kind}: ${detail}`),
      ),
    ],
    ['## Documents', '', ...documentLines(ended, context)],
    ['## Not compared', '', ...notComparedLines(ended)],
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function comparedLines(ended: EndedComparison, { filter }: ReportContext): string[] {
  const { totals, started_ms, ended_ms, runs } = ended;
  const isFiltered = filter.includeNamespaces.length + filter.excludeNamespaces.length > 0;
  return [
    `- Source: ${clusterText(ended.source)}`,
    `- Destination: ${clusterText(ended.destination)}`,
    `- From ${new Date(started_ms).toISOString()} to ${new Date(ended_ms).toISOString()}${runs > 1 ? `, in ${runs} runs` : ''}`,
    `- Filter: ${isFiltered ? code(JSON.stringify(filter)) : 'none, everything that users have'}`,
    `- ${formatCount(ended.namespaces)} collections and views by their definitions, ${formatCount(ended.collections)} collections by their documents`,
    `- ${formatCount(totals.sourceDocuments)} documents of the source, ${formatCount(totals.destinationDocuments)} of the destination, ${formatBytes(totals.bytes)} read in all`,
  ];
}

function clusterText({ host, kind, version, clusterId, shards }: DescribedCluster): string {
  return `${kind === 'sharded' ? `sharded cluster of ${shards} shards` : 'replica set'} at ${host}, MongoDB ${version}, cluster id ${clusterId}`;
}

function ruleLines(
  { generations, shardKeysCompared }: EndedComparison,
  { rule, generationsMax }: ComparisonOptions,
): string[] {
  return [
    'Every document of both sides was read at majority through the routers, without orphans, and compared byte for byte: values, types, and the order of fields; in capped collections the order of insertion too.',
    'Each was compared as it was at one moment between begin and end; what was written to it later is covered only if no more was written after the begin.',
    '',
    `What differed was looked at again, ${generations} times (${generationsMax} at most). A difference is proven when neither side had changed for ${rule.settle_ms / 1000} s and over ${rule.looksMin} looks.`,
    '',
    shardKeysCompared
      ? 'Shard keys were compared.'
      : 'Shard keys were not compared: one side is a replica set, or they were said to differ.',
  ];
}

function documentLines({ totals }: EndedComparison, { shown, mismatchFile }: ReportContext): string[] {
  const all = totals.mismatches + totals.suspects;
  const lines = [
    `- ${formatCount(totals.mismatches)} proven different`,
    `- ${formatCount(totals.suspects)} undecided: they kept changing and were never the same`,
    `- ${formatCount(totals.agreed)} differed at first and were the same at a later look`,
  ];
  if (shown.length > 0)
    lines.push(
      '',
      `The first ${formatCount(shown.length)} of ${formatCount(all)}:`,
      '',
      ...shown.map((mismatch) => `- ${mismatchLine(mismatch)}`),
    );
  if (mismatchFile !== null) lines.push('', `All of them are in ${code(mismatchFile)}.`);
  return lines;
}

function notComparedLines({ notCompared }: EndedComparison): string[] {
  const always = [
    'users, roles, settings of the clusters, and the databases `admin`, `config`, `local` and `convoy_metadata`',
  ];
  return listOr('', [...notCompared.map(({ namespace, reason }) => `${code(namespace)}: ${reason}`), ...always]);
}

function listOr(nothing: string, items: readonly string[]): string[] {
  return items.length === 0 ? [nothing] : items.map((item) => `- ${item}`);
}

function code(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}
