@0xd3f1a6b0c58e4a27;

struct ArchiveRecord {
  ids @0 :List(Int64);
  strings @1 :List(Text);
  values @2 :List(Float64);
}
