import type { ComparisonProgress, EndedComparison } from '@convoy/instance/process/comparison';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import type { PathDifference } from '@convoy/instance/verify/compare/differing-paths';
import { formatBytes, formatCount } from './quantity.js';

const verdictWords: Readonly<Record<EndedComparison['verdict'], string>> = {
  equal: 'EQUAL: everything that was compared is the same on both sides.',
  different: 'DIFFERENT: source and destination are not the same.',
  undecided:
    'UNDECIDED: some documents changed each time they were looked at and were never the same; stop the writes and run it again.',
  incomplete: 'INCOMPLETE: what was compared is the same, but not everything could be compared.',
};

/** The result in one sentence. */
export function verdictLine({ verdict }: EndedComparison): string {
  return verdictWords[verdict];
}

/** One line that says how far a comparison is. */
export function comparisonLine(
  { phase, totals, generation, estimatedDocuments }: ComparisonProgress,
  bytesPerSecond: number,
): string {
  const compared = Math.max(totals.sourceDocuments, totals.destinationDocuments);
  const percent =
    estimatedDocuments === 0 ? '' : ` (${Math.min(100, (100 * compared) / estimatedDocuments).toFixed(1)} %)`;
  const parts = [
    phase === 'checking again' ? `${phase}, generation ${generation}` : phase,
    `${formatCount(compared)} of about ${formatCount(estimatedDocuments)} documents${percent}`,
    ...(phase === 'comparing' ? [`${formatBytes(bytesPerSecond)}/s`] : []),
    `${formatCount(totals.suspects)} to look at again`,
    `${formatCount(totals.mismatches)} proven different`,
  ];
  return parts.join(' · ');
}

/** A mismatch in one line: namespace, `_id`, and where it differs. */
export function mismatchLine({ namespace, kind, _id, paths, proven }: DescribedMismatch): string {
  const where = paths.length === 0 ? '' : `: ${paths.map(pathText).join(', ')}`;
  return `${namespace} ${kind} ${JSON.stringify(_id)}${where}${proven ? '' : ' (kept changing)'}`;
}

function pathText({ path, kind, sourceType, destinationType }: PathDifference): string {
  const name = path === '' ? 'the document' : path;
  switch (kind) {
    case 'order':
      return `order of fields in ${name}`;
    case 'missingOnDestination':
      return `${name} is missing (${sourceType})`;
    case 'extraOnDestination':
      return `${name} is extra (${destinationType})`;
    case 'changed':
      return sourceType === destinationType
        ? `${name} (${sourceType})`
        : `${name} (${sourceType}, on the destination ${destinationType})`;
  }
}

/** The result for people; of the mismatches the first ones. */
export function resultLines(ended: EndedComparison, shown: readonly DescribedMismatch[]): string[] {
  const { totals, collections, differences, notCompared } = ended;
  const more = totals.mismatches + totals.suspects - shown.length;
  return [
    verdictLine(ended),
    `${formatCount(collections)} collections, ${formatCount(totals.sourceDocuments)} documents of the source and ${formatCount(totals.destinationDocuments)} of the destination, ${formatBytes(totals.bytes)} read.`,
    ...differences.map(({ kind, namespace, detail }) => `${namespace} ${kind}: ${detail}`),
    ...shown.map(mismatchLine),
    ...(more > 0 ? [`… and ${formatCount(more)} more documents`] : []),
    ...notCompared.map(({ namespace, reason }) => `${namespace} was not compared: ${reason}`),
  ];
}
