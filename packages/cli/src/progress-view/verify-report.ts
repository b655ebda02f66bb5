import type { DescribedCluster, EndedComparison } from '@convoy/instance/process/comparison';
import type { ComparisonFilter, ComparisonOptions } from '@convoy/instance/verify/standalone/compare-clusters';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import { bytesText, countText } from '@convoy/coordinator/dashboard/views/quantity';
import { mismatchLine, skippedLine, verdictLine } from './verify-lines.js';

/** Content of a report besides the result. */
export interface ReportContent {
  filter: ComparisonFilter;
  options: ComparisonOptions;
  /** The first mismatches. */
  shown: readonly DescribedMismatch[];
  /** File with all mismatches, if requested. */
  mismatchFile: string | null;
}

/** The Markdown report for a change ticket: what was compared, when, how, and the result. */
export function verifyReport(ended: EndedComparison, content: ReportContent): string {
  const sections = [
    ['# Comparison of two MongoDB clusters', '', `**${verdictLine(ended)}**`],
    ['## Scope', '', ...comparedLines(ended, content)],
    ['## How', '', ...ruleLines(ended, content.options)],
    [
      '## Definitions',
      '',
      ...listOr(
        'No differences.',
        ended.differences.map(({ kind, namespace, detail }) => `${code(namespace)} ${kind}: ${detail}`),
      ),
    ],
    ['## Documents', '', ...documentLines(ended, content)],
    ['## Not compared', '', ...notComparedLines(ended)],
  ];
  return `${sections.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function comparedLines(ended: EndedComparison, { filter }: ReportContent): string[] {
  const { totals, started_ms, ended_ms, runs } = ended;
  const { includeNamespaces, excludeNamespaces, namespaceRemap = [] } = filter;
  const isFiltered = includeNamespaces.length + excludeNamespaces.length > 0;
  return [
    `- Source: ${clusterText(ended.source)}`,
    `- Destination: ${clusterText(ended.destination)}`,
    `- From ${new Date(started_ms).toISOString()} to ${new Date(ended_ms).toISOString()}` +
      (runs > 1 ? `, in ${runs} runs` : ''),
    `- Filter: ${isFiltered ? code(JSON.stringify({ includeNamespaces, excludeNamespaces })) : 'none, all user data'}`,
    ...(namespaceRemap.length > 0 ? [`- Other names on the destination: ${code(JSON.stringify(namespaceRemap))}`] : []),
    `- ${countText(ended.namespaces)} collections and views by their definitions, ` +
      `${countText(ended.collections)} collections by their documents`,
    `- ${countText(totals.sourceDocuments)} documents of the source, ` +
      `${countText(totals.destinationDocuments)} of the destination, ${bytesText(totals.bytes)} read in all`,
  ];
}

function clusterText({ host, kind, version, clusterId, shards }: DescribedCluster): string {
  const topology = kind === 'sharded' ? `sharded cluster of ${shards} shards` : 'replica set';
  return `${topology} at ${host}, MongoDB ${version}, cluster id ${clusterId}`;
}

function ruleLines(
  { generations, shardKeysCompared }: EndedComparison,
  { rule, generationsMax }: ComparisonOptions,
): string[] {
  return [
    'Convoy read every document of both sides at majority through the routers, without orphans, and compared ' +
      'them byte for byte: values, types and the order of fields, and in capped collections the order of ' +
      'insertion.',
    'Each comparison reflects one moment between start and end. Later writes are covered only if none ' +
      'followed the start.',
    '',
    `Differing documents were compared again ${generations} times (at most ${generationsMax}). A difference ` +
      `is proven when neither side changed for ${rule.settle_ms / 1000} s and ${rule.looksMin} comparisons.`,
    '',
    shardKeysCompared
      ? 'Shard keys were compared.'
      : 'Shard keys were not compared: one side is a replica set, or the user excluded them.',
  ];
}

function documentLines({ totals }: EndedComparison, { shown, mismatchFile }: ReportContent): string[] {
  const all = totals.mismatches + totals.suspects;
  const lines = [
    `- ${countText(totals.mismatches)} proven different`,
    `- ${countText(totals.suspects)} undecided: they kept changing and were never equal`,
    `- ${countText(totals.agreed)} differed at first and were equal later`,
  ];
  if (shown.length > 0)
    lines.push(
      '',
      `The first ${countText(shown.length)} of ${countText(all)}:`,
      '',
      ...shown.map((mismatch) => `- ${mismatchLine(mismatch)}`),
    );
  if (mismatchFile !== null) lines.push('', `All of them are in ${code(mismatchFile)}.`);
  return lines;
}

function notComparedLines({ notCompared, skippedIndexes }: EndedComparison): string[] {
  const always = [
    'users, roles, settings of the clusters, and the databases `admin`, `config`, `local` and `convoy_metadata`',
  ];
  return listOr('', [
    ...notCompared.map(({ namespace, reason }) => `${code(namespace)}: ${reason}`),
    ...skippedIndexes.map((skipped) => `skipped by the migration: ${skippedLine(skipped)}`),
    ...always,
  ]);
}

function listOr(nothing: string, items: readonly string[]): string[] {
  return items.length === 0 ? [nothing] : items.map((item) => `- ${item}`);
}

function code(text: string): string {
  return `\`${text.replaceAll('`', "'")}\``;
}
