import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { conditions } from '../../e2e/monitoring/conditions.js';
import { coordinatorText, instanceText, metricsIn } from './metric-texts.js';
import { hasPromtool, promtool } from './promtool.js';
import { readText } from '../source-tree.js';

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
}

interface Variable {
  readonly name: string;
  readonly query: string | { readonly query: string };
}

const folder = 'docs/monitoring';
const rules = (parse(readText(`${folder}/alerts.yml`)) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);
const board = JSON.parse(readText(`${folder}/grafana-board.json`)) as {
  panels: Panel[];
  templating: { list: Variable[] };
};
const panelQueries = board.panels.flatMap(({ title, targets }) => targets.map((target) => ({ title, ...target })));

/** Labels that the configuration of Prometheus gives to every series of a target. */
const targetLabels = ['fleet', 'instance', 'job'];
/** Series of Prometheus itself. */
const ofPrometheus = new Map([
  ['up', new Set<string>()],
  ['ALERTS', new Set(['alertname', 'alertstate', 'severity'])],
]);
const words = new Set(['by', 'on', 'and', 'or', 'unless', 'sum', 'max', 'min', 'count', 'rate', 'deriv']);

async function knownMetrics(): Promise<Map<string, Set<string>>> {
  const known = new Map<string, Set<string>>(ofPrometheus);
  for (const text of [await instanceText(), await coordinatorText()])
    for (const [name, labels] of metricsIn(text)) known.set(name, new Set([...(known.get(name) ?? []), ...labels]));
  return known;
}

/** What an expression uses and nothing exports: metrics, and labels of selectors, groupings and a legend. */
function unknownIn(expression: string, known: ReadonlyMap<string, ReadonlySet<string>>, legend = ''): string[] {
  const unknown: string[] = [];
  const present = new Set(targetLabels);
  const labelsOf = (metric: string): ReadonlySet<string> | undefined =>
    known.get(metric) ?? known.get(metric.replace(/_(bucket|sum|count)$/, ''));
  const plain = expression.replace(/"[^"]*"/g, '""').replace(/\[[^\]]*\]/g, '');
  const outside = plain.replace(/\{[^}]*\}/g, '').replace(/\b(by|on) \([^)]*\)/g, '');
  for (const [metric] of outside.matchAll(/\b[A-Za-z_]\w*/g)) {
    if (words.has(metric)) continue;
    if (labelsOf(metric) === undefined) unknown.push(metric);
    for (const label of labelsOf(metric) ?? []) present.add(label);
  }
  for (const [, metric = '', matchers = ''] of plain.matchAll(/(\w+)\{([^}]*)\}/g))
    for (const [, label = ''] of matchers.matchAll(/(\w+)\s*[=!]/g))
      if (!targetLabels.includes(label) && labelsOf(metric)?.has(label) !== true) unknown.push(`${metric}{${label}}`);
  const groupings = [...plain.matchAll(/\bby \(([^)]*)\)/g)].map(([, list = '']) => list.split(', '));
  const others = [...plain.matchAll(/\bon \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(', '));
  const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
  for (const label of [...groupings.flat(), ...others, ...shown]) if (!present.has(label)) unknown.push(label);
  for (const label of groupings.length > 0 ? shown : [])
    if (!groupings.some((list) => list.includes(label))) unknown.push(`legend ${label}`);
  return unknown;
}

describe(`${folder}/alerts.yml`, () => {
  test('uses exported metrics and labels alone', async () => {
    const known = await knownMetrics();
    expect(rules.length).toBeGreaterThan(5);
    expect(rules.flatMap(({ expr }) => unknownIn(expr, known))).toEqual([]);
    expect(unknownIn('sum by (fleets) (convoy_lag{name="a"}) / convoy_warnings{id="b"}', known)).toEqual([
      'convoy_lag',
      'convoy_lag{name}',
      'convoy_warnings{id}',
      'fleets',
    ]);
  });

  test('names every alert in the unit tests and in the conditions that a real Prometheus is tried with', () => {
    const names = rules.map(({ alert }) => alert).sort();
    const unitTests = [...readText(`${folder}/alerts.test.yml`).matchAll(/alertname: (\w+)/g)].map(([, name]) => name);
    expect([...new Set(unitTests)].sort()).toEqual(names);
    expect([...new Set(conditions.flatMap(({ alerts }) => alerts))].sort()).toEqual(names);
  });

  test.skipIf(!hasPromtool)('is clean for promtool check rules, and its rules fire when they should (promtool)', () => {
    expect(promtool(['check', 'rules', `${folder}/alerts.yml`])).toBe('');
    expect(promtool(['test', 'rules', `${folder}/alerts.test.yml`])).toBe('');
  });
});

describe(`${folder}/prometheus.yml`, () => {
  test('stands in docs/reference/metrics.md', () => {
    expect(readText('docs/reference/metrics.md')).toContain(
      `\`\`\`yaml\n${readText(`${folder}/prometheus.yml`)}\`\`\``,
    );
  });

  test.skipIf(!hasPromtool)('is clean for promtool check config (promtool)', () => {
    expect(promtool(['check', 'config', '--syntax-only', `${folder}/prometheus.yml`])).toBe('');
  });
});

describe(`${folder}/grafana-board.json`, () => {
  test('uses exported metrics and labels alone', async () => {
    const known = await knownMetrics();
    expect(panelQueries.length).toBeGreaterThan(15);
    for (const { title, expr, legendFormat } of panelQueries)
      expect(unknownIn(expr, known, legendFormat), title).toEqual([]);
  });

  test('asks in every query for the chosen fleet, and uses its own variables alone', () => {
    const names = board.templating.list.map(({ name }) => name);
    expect(names).toEqual(['datasource', 'fleet', 'instance']);
    for (const { title, expr } of panelQueries) {
      const selectors = [...expr.matchAll(/\b(?:convoy|process|ALERTS)\w*(\{[^}]*\})?/g)].map(([whole]) => whole);
      const unfiltered = selectors.filter((selector) => !selector.includes('fleet=~"$fleet"'));
      // The other side of a match on labels only says whose series count.
      expect(expr.includes(' and on (') ? [] : unfiltered, title).toEqual([]);
      const used = [...expr.matchAll(/\$(\w+)/g)].map(([, name]) => name);
      expect(
        used.filter((name = '') => ![...names, '__rate_interval'].includes(name)),
        title,
      ).toEqual([]);
    }
  });

  test('has panels that do not overlap', () => {
    const { panels } = board;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test.skipIf(!hasPromtool)('has queries that Prometheus parses (promtool)', () => {
    const scratch = mkdtempSync(join(tmpdir(), 'convoy-board-'));
    onTestFinished(() => rmSync(scratch, { recursive: true }));
    const file = join(scratch, 'queries.yml');
    const queries = panelQueries.map(({ expr }, at) => ({
      record: `query_${at}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    }));
    writeFileSync(file, stringify({ groups: [{ name: 'board', rules: queries }] }));
    expect(promtool(['check', 'rules', file])).toBe('');
  });
});
