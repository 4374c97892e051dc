import type { Fields } from '../../lib/is-object.ts'
import type { EffortSpelling } from '../../model/model-traits.ts'

/**
 * The fields in which servers read how hard their models shall think, by the spelling of the effort; undefined where a server
 * has no place for it.
 */
export const EFFORT_MANNERS = {
  /** The protocol's own word. */
  word: (spelling: EffortSpelling) => word(spelling === 'disabled' ? 'none' : spelling),

  /** OpenRouter: an object, in which a number of tokens has a place too. */
  object: (spelling: EffortSpelling) => {
    if (typeof spelling === 'number') return { reasoning: { max_tokens: spelling } }
    return { reasoning: { effort: spelling === 'disabled' ? 'none' : spelling } }
  },

  /** DeepSeek: a switch, and the word beside it. */
  'switch-and-word': (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { thinking: { type: 'disabled' } }
    const said = word(spelling)
    return said && { thinking: { type: 'enabled' }, ...said }
  },

  /** Moonshot: models that have the word think always, and take no switch. */
  'word-or-switch': (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { thinking: { type: 'disabled' } } : word(spelling),

  /** Alibaba: a switch and a number of tokens; of words it takes only that there is to be thinking. */
  budget: (spelling: EffortSpelling) => {
    if (spelling === 'disabled') return { enable_thinking: false }
    return typeof spelling === 'number'
      ? { enable_thinking: true, thinking_budget: spelling }
      : { enable_thinking: true }
  },

  /** Vertex AI: a word, or Gemini's own `thinking_config`; never both. */
  google: (spelling: EffortSpelling) => {
    const tokens = spelling === 'disabled' ? 0 : spelling
    if (typeof tokens === 'string') return word(tokens)
    return { extra_body: { google: { thinking_config: { thinking_budget: tokens } } } }
  },

  /** Anthropic: a number of tokens, or `adaptive`, with which the model decides how long it thinks. */
  thinking: (spelling: EffortSpelling) => {
    if (typeof spelling === 'number') return { thinking: { type: 'enabled', budget_tokens: spelling } }
    return { thinking: { type: spelling === 'disabled' ? 'disabled' : 'adaptive' } }
  },

  /** Servers that anybody can run: whether a model thinks is decided by the template of its prompt. */
  template: (spelling: EffortSpelling) =>
    spelling === 'disabled' ? { chat_template_kwargs: { enable_thinking: false } } : word(spelling),
} as const satisfies Record<string, (spelling: EffortSpelling) => Fields | undefined>

export type EffortManner = keyof typeof EFFORT_MANNERS

const word = (spelling: EffortSpelling): Fields | undefined =>
  typeof spelling === 'string' ? { reasoning_effort: spelling } : undefined
