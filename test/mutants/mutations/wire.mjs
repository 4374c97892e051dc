// Faults in what is read and written of a protocol.

export const OF_THE_WIRE = [
  {
    name: 'crlf-never-ends',
    says: 'frames that end with CRLF are not cut',
    caughtBy: ['src/protocols/sse/split-frames.test.ts'],
    replacements: [
      {
        file: 'src/protocols/sse/frames.ts',
        find: `      else if (bytes[at + 1] === CR && bytes[at + 2] === LF) end = at + 3\n`,
        put: '',
      },
    ],
  },
  {
    name: 'cache-writes-are-free',
    says: 'what was written into a cache is not counted',
    caughtBy: ['src/protocols/anthropic/read-usage.test.ts'],
    replacements: [
      { file: 'src/protocols/anthropic/read-events.ts', find: 'cacheWrite: written }', put: 'cacheWrite: 0 }' },
    ],
  },
  {
    name: 'long-tool-names',
    says: 'names of tools are as long as clients make them',
    caughtBy: ['src/protocols/tools/tool-names.test.ts'],
    replacements: [
      { file: 'src/protocols/tools/tool-names.ts', find: 'const LENGTH_MAX = 64', put: 'const LENGTH_MAX = 640' },
    ],
  },
  {
    name: 'escaped-names-are-others',
    says: 'a field whose name is written in escapes is not recognised',
    caughtBy: ['src/protocols/json/json-properties.test.ts'],
    replacements: [{ file: 'src/protocols/json/scan-json.ts', find: 'escaped ? decodeName(raw) : raw', put: 'raw' }],
  },
  {
    name: 'refusal-quotes-count',
    says: 'our bill with a provider is told as the mistake of the client',
    caughtBy: ['src/protocols/refusals/classify-refusal.test.ts'],
    replacements: [
      {
        file: 'src/protocols/refusals/provider-error.ts',
        find: `  { means: 'credential', status: [401, 402, 403, 407] },\n`,
        put: '',
      },
    ],
  },
  {
    name: 'early-usage-is-believed',
    says: 'a usage that was told before the words counts the whole answer',
    caughtBy: ['src/protocols/early-usage.test.ts'],
    replacements: [
      {
        file: 'src/protocols/shared/stream-state.ts',
        find: '  if (!state.finished || state.usageIsFinal || state.usage === undefined) return\n',
        put: '',
      },
    ],
  },
  {
    name: 'unexplained-total-is-output',
    says: 'what a total has more than its parts is charged as output',
    caughtBy: ['src/protocols/shared/stream-state.test.ts'],
    replacements: [
      {
        file: 'src/protocols/shared/stream-state.ts',
        find: 'return { ...counts, doubtful: true }',
        put: 'return { ...counts, output: output + rest }',
      },
    ],
  },
  {
    name: 'usage-chunk-passes',
    says: 'the usage chunk of the provider goes to the client too',
    caughtBy: ['src/protocols/chat/tap.test.ts'],
    replacements: [
      {
        file: 'src/protocols/chat/tap.ts',
        find: '!listed.some(isObject)) return hasUsage ? this.#sendEnd() : NOTHING_ENCODED',
        put: '!listed.some(isObject)) return { bytes: frame, isContent: false }',
      },
    ],
  },
  {
    name: 'foreign-choice-ends-the-stream',
    says: 'a choice that the client has not asked for goes to it, and its end ends the answer',
    caughtBy: ['src/protocols/chat/stream-oddities.test.ts'],
    replacements: [
      { file: 'src/protocols/chat/repair-chunk.ts', find: '(index as number) < choices', put: 'choices > 0' },
    ],
  },
  {
    name: 'words-behind-the-end',
    says: 'a relay passes words behind the finish chunk by',
    caughtBy: ['src/protocols/chat/stream-oddities.test.ts'],
    replacements: [
      {
        file: 'src/protocols/chat/tap.ts',
        find: 'state.invalid = CONTENT_AFTER_END',
        put: 'state.invalid = undefined',
      },
    ],
  },
  {
    name: 'finish-before-the-end',
    says: 'a relay sends the finish chunk while more content may follow',
    caughtBy: ['src/protocols/chat/stream-oddities.test.ts', 'src/protocols/chat/tap.test.ts'],
    replacements: [
      {
        file: 'src/protocols/chat/tap.ts',
        find: 'if (this.#repair.wentOn || choices.some(hasFinish)) return',
        put: 'if (this.#repair.wentOn) return',
      },
    ],
  },
  {
    name: 'arguments-that-are-no-json',
    says: 'a whole answer may have a call whose arguments break off',
    caughtBy: ['src/protocols/tools/restore-tools.test.ts'],
    replacements: [
      {
        file: 'src/protocols/tools/restore-tools.ts',
        find: "state === 'incomplete' || state === 'broken'",
        put: "state === 'broken'",
      },
    ],
  },
  {
    name: 'two-beginnings',
    says: 'a second message_start in the middle of an answer is taken for nothing',
    caughtBy: ['src/protocols/anthropic/read-events.test.ts'],
    replacements: [
      {
        file: 'src/protocols/anthropic/read-events.ts',
        find: "if (this.#hasBegun) state.invalid = 'a second message_start'",
        put: '',
      },
    ],
  },
  {
    name: 'ends-that-disagree',
    says: 'an item may end with other words than its deltas had',
    caughtBy: ['src/protocols/responses/read-stream.item-events.test.ts'],
    replacements: [
      {
        file: 'src/protocols/responses/parse-items.ts',
        find: '!hasSameText(part, whole)) this',
        put: '!hasSameText(part, part.text)) this',
      },
    ],
  },
  {
    name: 'ends-that-leave-out',
    says: 'a response may end without an item that it has told',
    caughtBy: ['src/protocols/responses/parse-items.test.ts'],
    replacements: [
      {
        file: 'src/protocols/responses/parse-items.ts',
        find: 'this.#items.all.some(isMissing)',
        put: 'isMissing === undefined',
      },
    ],
  },
  {
    name: 'calls-lose-digits',
    says: 'the numbers of a call are what a double makes of them',
    caughtBy: ['src/protocols/gemini/read-events.test.ts'],
    replacements: [
      {
        file: 'src/protocols/gemini/read-events.ts',
        find: 'frame.includes(FUNCTION_CALL) ? markedData(frame) : undefined',
        put: 'undefined',
      },
    ],
  },
  {
    name: 'lone-returns-pass',
    says: 'a frame that another one hides is lost without a word',
    caughtBy: ['src/protocols/sse/frame-data.test.ts'],
    replacements: [
      {
        file: 'src/protocols/sse/frames.ts',
        find: 'if (frame.includes(CR) && hasLoneReturn(frame)) {',
        put: 'if (false) {',
      },
    ],
  },
  {
    name: 'no-role-is-repaired',
    says: 'a stream that never says its role stays so',
    caughtBy: ['src/protocols/chat/tap.test.ts', 'src/protocols/chat/stream-oddities.test.ts'],
    replacements: [
      {
        file: 'src/protocols/chat/repair-chunk.ts',
        find: `!state.hasRole && delta.role !== 'assistant'`,
        put: 'false',
      },
    ],
  },
  {
    name: 'output-is-forgotten',
    says: 'text that was copied without parsing counts for nothing',
    caughtBy: ['src/protocols/chat/frame-template.test.ts'],
    replacements: [{ file: 'src/protocols/chat/tap.ts', find: `    state.outputBytes += textBytes\n`, put: '' }],
  },
  {
    name: 'numbers-are-rounded',
    says: 'numbers of schemas and past calls reach providers as JavaScript has them',
    caughtBy: ['src/protocols/gemini/write-contents.test.ts', 'src/protocols/json/exact-numbers.test.ts'],
    replacements: [
      { file: 'src/protocols/json/exact-numbers.ts', find: 'if (isOdd(json, place)) places.push(place)', put: '' },
    ],
  },
  {
    name: 'marks-of-clients-are-ours',
    says: 'where a client has marked its prompt, our own policy marks it all the same',
    caughtBy: ['src/protocols/anthropic/write-request.mark-cache.test.ts'],
    replacements: [
      { file: 'src/protocols/anthropic/write-request.ts', find: 'if (marked.length > 0)', put: 'if (false)' },
    ],
  },
  {
    name: 'call-ids-count-from-the-end',
    says: 'the id of a call for a provider depends on what comes after it',
    caughtBy: ['src/gateway/stable-prefixes.test.ts'],
    replacements: [
      {
        file: 'src/protocols/anthropic/write-messages.ts',
        find: 'id: known?.id ?? this.#ids.take(item.callId)',
        put: 'id: (known?.id ?? this.#ids.take(item.callId)) + this.#results.byCall.size',
      },
    ],
  },
  {
    name: 'loops-forget-their-thinking',
    says: 'a loop in which the model has thought only once goes on without what it thought',
    caughtBy: ['src/gateway/stable-prefixes.test.ts', 'src/protocols/anthropic/write-messages.test.ts'],
    replacements: [
      {
        file: 'src/protocols/anthropic/write-messages.ts',
        find: "before.findLastIndex(({ role, content }) => role === 'user' && !content.every(isResult))",
        put: "before.findLastIndex(({ role }) => role === 'user')",
      },
    ],
  },
]
