/**
 * A provider's sentence without what it quotes, which may be anything that a client has written: of a quotation only its
 * marks stay. Echoes of a value, as Pydantic and FastAPI print them, go as a whole. What an error carries as the message of
 * another one is a provider's own sentence, and stays, and so does a quotation that `keeps` fits.
 *
 * A server that quotes without escaping lets its client end the quotation, and say more. So no sentence proves anything:
 * see `isCertain` in `classify-refusal.ts`.
 */
export function withoutQuotes(message: string, keeps?: RegExp): string {
  return message.replace(QUOTED, (stretch: string, ...found: (string | undefined)[]) => {
    const sentence = found[0] ?? found[1]
    if (sentence !== undefined) return ` ${withoutQuotes(sentence.replaceAll(/\\(.)/gs, '$1'), keeps)} `
    if (keeps?.test(stretch.slice(1, -1))) return stretch
    return MARKS[stretch.charAt(0)] ?? ' '
  })
}

const MARKS: Readonly<Record<string, string>> = { '"': '""', "'": "''", '`': '``', '«': '«»', '“': '“”', '‘': '‘’' }

/** Inside of its marks, with what is escaped there. An apostrophe inside of a word is no mark. */
const IN_DOUBLE = String.raw`(?:[^"\\]|\\.)*`
const IN_SINGLE = String.raw`(?:[^'\\]|\\.|'(?=\w))*`

/** The first that begins is taken, to its end; a quotation that was cut off goes on to the end of the message. */
const QUOTED = new RegExp(
  [
    // Whatever follows is the client's: Pydantic says where it ends, a list of FastAPI does not.
    String.raw`\binput_value=.*?(?:, input_type=\w+|$)`,
    String.raw`['"]input['"]\s*:.*$`,
    String.raw`(?:"(?:message|msg)"|'(?:message|msg)')\s*:\s*(?:"(${IN_DOUBLE})"|'(${IN_SINGLE})'(?!\w))`,
    String.raw`"${IN_DOUBLE}(?:"|\\?$)`,
    // What stands behind a letter is an apostrophe.
    String.raw`(?<!\w)'${IN_SINGLE}(?:'|\\?$)`,
    '`[^`]*(?:`|$)',
    '«[^»]*(?:»|$)',
    '“[^”]*(?:”|$)',
    '‘[^’]*(?:’|$)',
  ].join('|'),
  'gs',
)
