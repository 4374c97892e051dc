import { type Problem, streamEnvelope } from '../../model/problem.ts'
import { dataFrame } from '../sse/frame-data.ts'

/**
 * How Chat says that an answer broke off: an error frame and the end, without `[DONE]` and without a finish reason. SDKs
 * throw on the frame; a stream that merely ends would pass for a whole answer.
 */
export const failureFrame = (subject: Problem, requestId: string): Buffer =>
  dataFrame(streamEnvelope(subject, requestId))
