/** @typedef {{ name: string, version: string, description: string, dependencies?: Record<string, string> }} Manifest */

/**
 * Limits a bill of materials in CycloneDX, as `npm sbom` writes it for a workspace, to what an installation brings.
 * npm itself would leave out every package that is also someone's development dependency, the database driver too.
 * @param {object} bill with all packages that npm finds, those for development included
 * @param {Record<string, Manifest>} manifests of the published packages by their names
 * @param {string} main name of the package that is installed
 * @returns {object} its component is the main package; the others follow, each with its full name
 */
export function billOfInstallation(bill, manifests, main) {
  const components = new Map(bill.components.map((component) => [component['bom-ref'], component]));
  const edges = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
  const own = new Map(Object.values(manifests).map((manifest) => [`${manifest.name}@${manifest.version}`, manifest]));
  const needs = (ref) => {
    const manifest = own.get(ref);
    const all = edges.get(ref) ?? [];
    return manifest === undefined ? all : all.filter((to) => nameOf(to) in (manifest.dependencies ?? {}));
  };
  const mainRef = `${main}@${manifests[main].version}`;
  const reached = new Set([mainRef]);
  for (const ref of reached) for (const to of needs(ref)) reached.add(to);
  const missing = [...reached].filter((ref) => !components.has(ref));
  if (missing.length > 0) throw new Error(`npm describes no component ${missing.join(', ')}.`);
  const described = (ref) => describe(components.get(ref), own.get(ref));
  return {
    ...bill,
    metadata: { ...bill.metadata, component: { ...described(mainRef), type: 'application' } },
    components: [...reached].filter((ref) => ref !== mainRef).map(described),
    dependencies: [...reached].map((ref) => ({ ref, dependsOn: needs(ref) })),
  };
}

/** npm gives packages of the repository the names of their folders. */
function describe(component, manifest) {
  if (manifest === undefined) return component;
  return { ...component, name: manifest.name, description: manifest.description };
}

/** `@convoy/api` of `@convoy/api@2.0.0`. */
function nameOf(ref) {
  return ref.slice(0, ref.lastIndexOf('@'));
}
