/**
 * What a changelog in the form of Keep a Changelog says about a version.
 * @param {string} text of the changelog
 * @param {string} version for example 2.0.0
 * @returns {{ date: string | undefined, notes: string }} without a date while the version is unreleased
 * @throws {Error} when the version has no section, or an empty one
 */
export function sectionOf(text, version) {
  const sections = text.split(/^(?=## \[)/m);
  const own = sections.find((section) => section.startsWith(`## [${version}]`));
  if (own === undefined) throw new Error(`CHANGELOG.md has no section "## [${version}]": write what changed.`);
  const [heading = '', ...lines] = own.split('\n');
  const notes = lines.join('\n').trim();
  if (notes === '') throw new Error(`The section of ${version} in CHANGELOG.md is empty: write what changed.`);
  return { date: /^## \[[^\]]+\] - (\d{4}-\d{2}-\d{2})$/.exec(heading)?.[1], notes };
}
