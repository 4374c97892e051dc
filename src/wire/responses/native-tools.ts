import type { ResponsesRequest } from '../../model/turn.ts'
import type { NativeTool, ResponsesDialect } from './dialects.ts'

/** What a request has in it that needs more than functions, now or in its history. */
const SIGNS: Readonly<Record<NativeTool, readonly Buffer[]>> = {
  custom: ['"custom"', '"custom_tool_call"', '"custom_tool_call_output"'].map((sign) => Buffer.from(sign)),
  namespace: ['"namespace"', '"additional_tools"'].map((sign) => Buffer.from(sign)),
}

/**
 * Whether a server takes all kinds of tools in this request. The same words in a text may say no where there is none: then
 * the request is translated for nothing, which is no harm.
 */
export function takesToolsOf({ nativeTools }: ResponsesDialect, { body }: ResponsesRequest): boolean {
  return Object.entries(SIGNS).every(
    ([kind, signs]) => nativeTools.includes(kind as NativeTool) || !signs.some((sign) => body.bytes.includes(sign)),
  )
}
