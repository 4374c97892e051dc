// Ranks the sections of the pages for a question. It runs in the browser, and in the tests.

const SYNONYMS = {
  docker: ['container'],
  podman: ['container'],
  ssl: ['tls'],
  https: ['tls'],
  postgresql: ['postgres'],
  price: ['charge', 'cost'],
  install: ['start', 'package'],
  fallback: ['failover'],
  budget: ['cap', 'wallet'],
  monitor: ['metric'],
  prometheus: ['metric'],
  admin: ['operator'],
  backup: ['restore'],
  cancel: ['disconnect', 'charge'],
  abort: ['disconnect'],
  revoke: ['key'],
}
const IGNORED = new Set(
  'a an and are as at be by can do does for from how i if in is it its me my of on or so than that the their there they this to use was what when where which who why will with you your'.split(
    ' ',
  ),
)

/** Cuts endings that do not change what a word is about: `keys`, `cancelled`, `retries`. */
const stem = (word) =>
  word.length > 4
    ? word
        .replace(/(?:ations?|ings?|ied|ies|ed|es|s)$/, (ending) => (ending.startsWith('ie') ? 'y' : ''))
        .replace(/([^aeiou])\1$/, '$1')
    : word.replace(/s$/, '')

/** `max_tokens` is one word and its two parts. */
export function wordsOf(text) {
  const words = []
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}_]+/gu)) {
    const parts = word.includes('_') ? [word, ...word.split('_')] : [word]
    for (const part of parts) if (part !== '' && !IGNORED.has(part)) words.push(stem(part))
  }
  return words
}

/** What a word is worth in the name of a page or a section, against a text that is full of it. */
const TITLE_WEIGHT = 1.5
const HEADING_WEIGHT = 1.5
/** BM25: how soon repetition stops to count, and how much long sections are held back. */
const SATURATION = 1.2
const LENGTH = 0.5
const PREFIX_WEIGHT = 0.5
const SYNONYM_WEIGHT = 0.4

/** `sections`: `{ title, heading, text, address, weight }`. */
export function createSearch(sections) {
  const documents = sections.map((section) => {
    const text = wordsOf(section.text)
    const counts = new Map()
    for (const word of text) counts.set(word, (counts.get(word) ?? 0) + 1)
    const [title, heading] = [new Set(wordsOf(section.title)), new Set(wordsOf(section.heading))]
    return { section, counts, length: text.length, title, heading, words: new Set([...text, ...title, ...heading]) }
  })
  const meanLength = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length)
  const holders = new Map()
  for (const { words } of documents) {
    for (const word of words) holders.set(word, (holders.get(word) ?? 0) + 1)
  }
  const vocabulary = [...holders.keys()]
  const rarity = (word) => {
    const count = holders.get(word) ?? 0
    return Math.log(1 + (documents.length - count + 0.5) / (count + 0.5))
  }

  /** What each word of the question may also be: itself, a word that it begins, a synonym. */
  const alternatives = (word) => [
    { word, weight: 1 },
    ...(word.length < 3
      ? []
      : vocabulary
          .filter((known) => known !== word && known.startsWith(word))
          .map((known) => ({ word: known, weight: PREFIX_WEIGHT }))),
    ...Object.entries(SYNONYMS).flatMap(([key, others]) =>
      stem(key) === word ? others.map((other) => ({ word: stem(other), weight: SYNONYM_WEIGHT })) : [],
    ),
  ]

  const worth = ({ counts, length, title, heading }, word) => {
    const count = counts.get(word) ?? 0
    const norm = SATURATION * (1 - LENGTH + (LENGTH * length) / meanLength)
    const inText = (count * (SATURATION + 1)) / (count + norm)
    const inNames = (title.has(word) ? TITLE_WEIGHT : 0) + (heading.has(word) ? HEADING_WEIGHT : 0)
    return rarity(word) * (inText + inNames)
  }

  return (question, limit = 8) => {
    const asked = [...new Set(wordsOf(question))].map(alternatives)
    const found = []
    for (const document of documents) {
      const each = asked.map((words) =>
        words.reduce(
          (best, { word, weight }) =>
            document.words.has(word) ? Math.max(best, weight * worth(document, word)) : best,
          0,
        ),
      )
      const matched = each.filter((score) => score > 0).length
      if (matched === 0) continue
      const score = each.reduce((sum, one) => sum + one, 0) * (matched / asked.length)
      found.push({ section: document.section, score: score * document.section.weight })
    }
    return found
      .sort((one, other) => other.score - one.score)
      .slice(0, limit)
      .map(({ section }) => section)
  }
}
