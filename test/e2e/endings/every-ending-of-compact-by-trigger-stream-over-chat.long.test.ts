import { describeColumn } from './describe-column.ts'

describeColumn('compact by trigger stream over a chat lane')
