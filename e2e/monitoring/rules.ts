import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

/** A rule of docs/monitoring/alerts.yml. */
export interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** The scales in which every rule is evaluated; a label of its alerts. */
export type Scale = 'document' | 'seconds';

interface RuleFile {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

/** The repository's folder, from the compiled file. */
const root = fileURLToPath(new URL('../../../../', import.meta.url));
/** `for` of the rules as they stand in the document: longer ones could not fire during a short migration. */
export const documentFor_seconds = 20;
/** One minute of a rule becomes two seconds. */
const divisor = 30;

/** Text of a file of the documents. */
export function readMonitoring(file: string): string {
  return readFileSync(`${root}docs/monitoring/${file}`, 'utf8');
}

export function readRules(): readonly Rule[] {
  return (parse(readMonitoring('alerts.yml')) as RuleFile).groups.flatMap(({ rules }) => rules);
}

/**
 * All rules twice: with the document's expressions and `for` of twenty seconds at most, and with one minute made two
 * seconds in `for`, ranges and limits alike.
 */
export function bothScales(rules: readonly Rule[]): RuleFile {
  const labelled = (rule: Rule, scale: Scale): Rule => ({ ...rule, labels: { ...rule.labels, scale } });
  const document = rules.map((rule) => ({
    ...labelled(rule, 'document'),
    for: `${Math.min(documentFor_seconds, secondsOf(rule.for ?? '0s'))}s`,
  }));
  const seconds = rules.map((rule) => ({
    ...labelled(rule, 'seconds'),
    expr: rule.expr
      .replace(/\[(\d+[smhd])\]/g, (_, range: string) => `[${secondsOf(range) / divisor}s]`)
      .replace(
        /([<>]=?) (\d{2,})\b/g,
        (_, compared: string, limit: string) => `${compared} ${Number(limit) / divisor}`,
      ),
    for: `${secondsOf(rule.for ?? '0s') / divisor}s`,
  }));
  return {
    groups: [
      { name: 'document', rules: document },
      { name: 'seconds', rules: seconds },
    ],
  };
}

const unit_seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** @param duration of Prometheus with one unit, for example 15m */
function secondsOf(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  const seconds = Number(count) * (unit_seconds[unit] ?? NaN);
  if (Number.isNaN(seconds)) throw new Error(`${duration} is no duration with one unit.`);
  return seconds;
}
