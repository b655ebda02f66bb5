import { bothNames } from '@convoy/api/contract/namespace-remap';
import type { ComparisonProgress, EndedComparison } from '@convoy/instance/process/comparison';
import type { DescribedMismatch } from '@convoy/instance/verify/standalone/described-mismatch';
import type { PathDifference } from '@convoy/instance/verify/compare/compare-documents';
import { bytesText, countText } from '@convoy/coordinator/dashboard/views/quantity';

const verdictWords: Readonly<Record<EndedComparison['verdict'], string>> = {
  equal: 'EQUAL: everything compared is the same on both sides.',
  different: 'DIFFERENT: source and destination differ.',
  undecided: 'UNDECIDED: some documents kept changing and were never equal. Stop the writes and compare again.',
  incomplete: 'INCOMPLETE: everything compared is the same, but some collections could not be compared.',
};

/** The result in one sentence. */
export function verdictLine({ verdict }: EndedComparison): string {
  return verdictWords[verdict];
}

/** The progress of a comparison in one line. */
export function comparisonLine(
  { phase, totals, generation, estimatedDocuments }: ComparisonProgress,
  bytesPerSecond: number,
): string {
  const compared = Math.max(totals.sourceDocuments, totals.destinationDocuments);
  const percent =
    estimatedDocuments === 0 ? '' : ` (${Math.min(100, (100 * compared) / estimatedDocuments).toFixed(1)} %)`;
  const parts = [
    phase === 'checking again' ? `${phase}, generation ${generation}` : phase,
    `${countText(compared)} of about ${countText(estimatedDocuments)} documents${percent}`,
    ...(phase === 'comparing' ? [`${bytesText(bytesPerSecond)}/s`] : []),
    `${countText(totals.suspects)} to compare again`,
    `${countText(totals.mismatches)} proven different`,
  ];
  return parts.join(' · ');
}

/** A mismatch in one line: namespace, `_id` and differing fields. */
export function mismatchLine({ namespace, destination, kind, _id, paths, proven }: DescribedMismatch): string {
  const where = paths.length === 0 ? '' : `: ${paths.map(pathText).join(', ')}`;
  const names = bothNames(namespace, destination);
  return `${names} ${kind} ${JSON.stringify(_id)}${where}${proven ? '' : ' (kept changing)'}`;
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

/** An index that a migration skipped, in one line. */
export function skippedLine({ namespace, index, description }: EndedComparison['skippedIndexes'][number]): string {
  return `index ${index} of ${namespace} (${description})`;
}

/** The result as text, with the first mismatches. */
export function resultLines(ended: EndedComparison, shown: readonly DescribedMismatch[]): string[] {
  const { totals, collections, differences, notCompared, skippedIndexes } = ended;
  const more = totals.mismatches + totals.suspects - shown.length;
  return [
    verdictLine(ended),
    `${countText(collections)} collections, ${countText(totals.sourceDocuments)} documents of the source ` +
      `and ${countText(totals.destinationDocuments)} of the destination, ${bytesText(totals.bytes)} read.`,
    ...differences.map(({ kind, namespace, detail }) => `${namespace} ${kind}: ${detail}`),
    ...shown.map(mismatchLine),
    ...(more > 0 ? [`… and ${countText(more)} more documents`] : []),
    ...notCompared.map(({ namespace, reason }) => `${namespace} was not compared: ${reason}`),
    ...skippedIndexes.map((skipped) => `Skipped, as the migration chose: ${skippedLine(skipped)}`),
  ];
}
