import { describeColumn } from './describe-column.ts'

describeColumn('compact by trigger JSON over a chat lane')
