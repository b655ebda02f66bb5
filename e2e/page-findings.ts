import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Serious findings of axe, with their places; of all its rules, or of the given ones. */
export async function seriousFindings(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axe);
  const options = rules.length === 0 ? {} : { runOnly: { type: 'rule', values: rules } };
  return page.evaluate(
    `axe.run(document, ${JSON.stringify({ ...options, resultTypes: ['violations'] })}).then(({violations}) => ` +
      'violations.filter(({impact}) => impact === "serious" || impact === "critical").map(({id, nodes}) => id + ": " ' +
      '+ nodes.map(({target}) => target.join(" ")).slice(0, 3).join(", ")))',
  );
}

/** The rules of axe that a color scheme can break. */
export const colorRules = ['color-contrast', 'link-in-text-block'];

/** Pixels by which the page is wider than its window; 0 or less when it fits. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
}
