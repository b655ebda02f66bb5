const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML from a template; every value is escaped as text. */
export function markup(pieces: TemplateStringsArray, ...values: readonly string[]): string {
  const written = values.map((value) => value.replace(/[&<>"']/g, (sign) => entities[sign] ?? sign));
  return String.raw({ raw: pieces }, ...written);
}
