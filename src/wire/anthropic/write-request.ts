import type { Fields } from '../../lib/is-object.ts'
import type { Conversation } from '../../model/conversation.ts'
import { clientName } from '../client-names.ts'
import type { LaneTarget, WrittenRequest } from '../lane-target.ts'
import { PLEA_FOR_JSON } from '../made-up-words.ts'
import { createToolNames } from '../tools/tool-names.ts'
import type { AnthropicDialect } from './dialects.ts'
import { keepsAllMarks, markCache } from './mark-cache.ts'
import { type FormatPlan, planFormat } from './plan-format.ts'
import { isLoopWithoutThinking, settleMessages } from './settle-messages.ts'
import { writeMessages } from './write-messages.ts'
import { textBlocks } from './write-parts.ts'
import { writeSettings } from './write-settings.ts'
import { planThinking, type ThinkingPlan } from './write-thinking.ts'
import { writeTools } from './write-tools.ts'

/** A conversation as the request that an Anthropic lane takes, in its dialect. */
export function writeRequest(conversation: Conversation, target: LaneTarget<AnthropicDialect>): WrittenRequest {
  const { dialect, client } = target
  const names = createToolNames(conversation.tools, { custom: 'as-function', namespace: 'flat' })
  const format = planFormat(conversation, dialect)
  const { fields, isForced, answerTool } = writeTools(conversation, names, { dialect, format })
  const draft = writeMessages(conversation, names, target)
  const settle = (thinking: ThinkingPlan['state']) =>
    settleMessages(draft.messages, {
      keepsThinking: thinking !== 'off',
      prefill: dialect.prefill && thinking !== 'on' && format.kind === 'plain',
    })
  const unsaid = settle('unsaid')
  const isForeign = isLoopWithoutThinking(unsaid)
  const plan = planThinking({ target, wantsSummary: wantsSummary(conversation, target), isForced, isForeign })
  const system = [...draft.system, ...textBlocks(format.kind === 'sentence' ? PLEA_FOR_JSON : '')]
  const caching = dialect.withoutFields.includes('cache_control') ? 'off' : target.promptCache
  const unmarked = {
    system,
    tools: fields.tools ?? [],
    messages: plan.state === 'unsaid' ? unsaid : settle(plan.state),
  }
  const prompt = markCache(unmarked, caching)
  const settings = writeSettings(conversation, { dialect, client, isThinking: plan.state === 'on' })
  const body = {
    model: target.model,
    max_tokens: target.outputCap,
    ...(target.delivery === 'stream' ? { stream: true } : {}),
    ...(prompt.system.length === 0 ? {} : { system: prompt.system }),
    messages: prompt.messages,
    ...fields,
    ...(fields.tools === undefined ? {} : { tools: prompt.tools }),
    ...settings.fields,
    ...(plan.thinking === undefined ? {} : { thinking: plan.thinking }),
    ...writeOutput(format, plan, dialect),
  }
  const isEffortLost = plan.isLost || (plan.effort !== undefined && dialect.withoutFields.includes('output_config'))
  const lostEffort = isEffortLost ? [clientName('effort', client)] : []
  return {
    body,
    leftOut: [...new Set([...draft.leftOut, ...settings.leftOut, ...lostEffort])],
    keepsMarks: keepsAllMarks(unmarked, caching),
    tools: names,
    answerTool,
  }
}

/** A Chat client cannot say whether it wants to be told; one that asks for thought is shown it. */
const wantsSummary = ({ reasoning }: Conversation, { client, effort }: LaneTarget<AnthropicDialect>): boolean =>
  client === 'responses' ? reasoning.summary !== undefined : effort !== undefined

function writeOutput(format: FormatPlan, { effort }: ThinkingPlan, { withoutFields }: AnthropicDialect): Fields {
  const output = {
    ...(effort === undefined || withoutFields.includes('output_config') ? {} : { effort }),
    ...(format.kind === 'held' ? { format: { type: 'json_schema', schema: format.schema } } : {}),
  }
  return Object.keys(output).length === 0 ? {} : { output_config: output }
}
