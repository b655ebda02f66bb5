import { siteTarget } from './document-tree.mjs';

/**
 * Turns links and pictures that lead through the repository into those of the site.
 * @param {import('markdown-it').default} md
 * @param {ReadonlyMap<string, string>} sources documents by their pages
 */
export function addRepositoryLinks(md, sources) {
  md.core.ruler.push('repository_links', ({ tokens, env }) => {
    const source = sources.get(env.relativePath);
    if (source === undefined) return;
    for (const token of tokens) {
      for (const child of token.children ?? []) rewrite(child, source);
      if (token.type === 'html_block') token.content = rewriteHtml(token.content, source);
    }
  });
}

function rewrite(token, source) {
  if (token.type === 'html_inline') token.content = rewriteHtml(token.content, source);
  for (const [name, value] of token.attrs ?? []) {
    if (name === 'href' || name === 'src') token.attrSet(name, siteTarget(source, value));
  }
}

function rewriteHtml(html, source) {
  return html.replace(/ (src|href)="([^"]+)"/g, (_, name, value) => ` ${name}="${siteTarget(source, value)}"`);
}

/** Draws Mermaid's blocks; what they say stands there until then, and for readers without scripts. */
export function addDiagrams(md) {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info, content } = tokens[index];
    if (info.trim() !== 'mermaid') return fence(...args);
    const text = md.utils.escapeHtml(content);
    return `<Diagram code="${encodeURIComponent(content)}"><pre v-pre>${text}</pre></Diagram>\n`;
  };
}
