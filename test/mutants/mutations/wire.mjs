// Faults in what is read and written of a protocol.

export const OF_THE_WIRE = [
  {
    name: 'crlf-never-ends',
    says: 'frames that end with CRLF are not cut',
    caughtBy: ['src/wire/sse/split-frames.test.ts'],
    replacements: [
      {
        file: 'src/wire/sse/split-frames.ts',
        find: `    if (next === CR && bytes[at + 2] === LF) return at + 3\n`,
        put: '',
      },
    ],
  },
  {
    name: 'cache-writes-are-free',
    says: 'what was written into a cache is not counted',
    caughtBy: ['src/wire/anthropic/read-usage.test.ts'],
    replacements: [{ file: 'src/wire/anthropic/read-usage.ts', find: 'cacheWrite: written }', put: 'cacheWrite: 0 }' }],
  },
  {
    name: 'long-tool-names',
    says: 'names of tools are as long as clients make them',
    caughtBy: ['src/wire/tools/tool-names.test.ts'],
    replacements: [
      { file: 'src/wire/tools/tool-names.ts', find: 'const LENGTH_MAX = 64', put: 'const LENGTH_MAX = 640' },
    ],
  },
  {
    name: 'escaped-names-are-others',
    says: 'a field whose name is written in escapes is not recognised',
    caughtBy: ['src/wire/json/json-properties.test.ts'],
    replacements: [{ file: 'src/wire/json/scan-json.ts', find: 'escaped ? decodeName(raw) : raw', put: 'raw' }],
  },
  {
    name: 'refusal-quotes-count',
    says: 'our bill with a provider is told as the mistake of the client',
    caughtBy: ['src/wire/refusals/classify-refusal.test.ts'],
    replacements: [
      {
        file: 'src/wire/refusals/classify-refusal.ts',
        find: `  { means: 'credential', status: [401, 402, 403, 407] },\n`,
        put: '',
      },
    ],
  },
  {
    name: 'early-usage-is-believed',
    says: 'a usage that was told before the words counts the whole answer',
    caughtBy: ['src/wire/usage-told-early.test.ts'],
    replacements: [
      {
        file: 'src/wire/heard.ts',
        find: '  if (!heard.finished || heard.usageIsFinal || heard.usage === undefined) return\n',
        put: '',
      },
    ],
  },
  {
    name: 'unexplained-total-is-output',
    says: 'what a total has more than its parts is charged as output',
    caughtBy: ['src/wire/reported-counts.test.ts'],
    replacements: [
      {
        file: 'src/wire/reported-counts.ts',
        find: 'return { ...counts, doubtful: true }',
        put: 'return { ...counts, output: output + rest }',
      },
    ],
  },
  {
    name: 'usage-chunk-passes',
    says: 'the usage chunk of the provider goes to the client too',
    caughtBy: ['src/wire/chat/tap.test.ts'],
    replacements: [
      {
        file: 'src/wire/chat/tap.ts',
        find: 'if (choices.length === 0) return NOTHING_CARRIED',
        put: 'if (choices.length === 0) return { bytes: frame, isContent: false }',
      },
    ],
  },
  {
    name: 'no-role-is-mended',
    says: 'a stream that never says its role stays so',
    caughtBy: ['src/wire/chat/tap.test.ts', 'src/wire/chat/stream-oddities.test.ts'],
    replacements: [
      { file: 'src/wire/chat/mend-chunk.ts', find: `!state.spoken && delta.role !== 'assistant'`, put: 'false' },
    ],
  },
  {
    name: 'output-is-forgotten',
    says: 'words that were copied without parsing count for nothing',
    caughtBy: ['src/wire/chat/alike-frames.test.ts'],
    replacements: [{ file: 'src/wire/chat/tap.ts', find: `      heard.outputBytes += alike.words\n`, put: '' }],
  },
]
