import type { Terminal } from './cli-deps.ts'

export interface TestTerminal extends Terminal {
  readonly said: { out: string; err: string }
}

/** Keeps what was said; answers questions with the given words, one after the other. */
export function createTestTerminal(options: { attended?: boolean; answers?: string[] } = {}): TestTerminal {
  const said = { out: '', err: '' }
  const answers = [...(options.answers ?? [])]
  return {
    said,
    out: (text) => {
      said.out += text
    },
    err: (text) => {
      said.err += text
    },
    colours: { out: false, err: false },
    interactive: options.answers !== undefined,
    attended: options.attended ?? false,
    ask: async (question) => {
      said.err += question
      return answers.shift()
    },
  }
}
