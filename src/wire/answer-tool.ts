import type { AnswerFormat } from '../model/conversation.ts'
import type { ToolNames } from './tool-names.ts'

/** How a tool is told of whose input is the answer, on a lane that knows no other way to have one in a schema. */
export interface AnswerTool {
  readonly name: string
  readonly description: string
}

type Named = Pick<Extract<AnswerFormat, { readonly type: 'json_schema' }>, 'name' | 'description'>

/** The name is the client's; the namespace keeps it apart from the client's own tools. */
export const answerToolFor = ({ name, description }: Named, names: ToolNames): AnswerTool => ({
  name: names.upstreamName({ name, namespace: 'answer', tool: 'function' }),
  description: ['Takes the whole answer: call it once, and say nothing besides.', description]
    .filter((text) => text !== undefined && text !== '')
    .join('\n\n'),
})
