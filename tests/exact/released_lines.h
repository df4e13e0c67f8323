// Layers in the released forms that run in integers, for the tests that compare two machines on every mixer.
#pragma once

#include <string>
#include <vector>

namespace rung {

inline std::vector<std::string> and_released(std::vector<std::string> lines) {
  for (const char* line : {
           "mamba2(form=released)",
           "mamba2(form=released,heads=4,dim=2,groups=2,conv=3)",
           "mamba2(form=released,norm=before,skip=channel,gate=sigmoid,conv=2)",
           "mamba(form=released,conv=3)",
           "mamba(form=released,inner=3,rank=2)",
           "mamba(form=released,norms=after,conv=2)",
           "mamba(form=released,norms=before,rank=3,inner=5)",
           "delta(form=released,conv=2)",
           "delta(form=released,qk_act=elu1,qk_norm=sum,act=none,beta=no,range=2)",
           "gdelta(form=released,kv=1,conv=3)",
           "gdelta(form=released,decay=sigmoid,qk_norm=none)",
           "loglinear(base=mamba2,form=released,conv=2)",
           "loglinear(base=gdelta,form=released)",
           "loglinear(base=mamba2,form=released,partition=strong)",
           "loglinear(base=gdelta,form=released,partition=strong,kv=1,conv=2)",
           "sparse(form=released,rope=none,B=3,k=3,window=2)",
           "sparse(form=released,rope=none,B=2,k=2,kv=1,first=0,local=1)",
           "sparse(form=released,rope=none,B=4,k=2,compress=pool,span=4,stride=2)",
           "sparse(form=released,rope=none,B=2,k=3,compress=weighted,span=4,stride=1,local=1,window=3)",
           "sparse(form=released,rope=none,B=2,k=4,heads=4,kv=2,dim=2,compress=linear,span=2,first=2)",
           "topk(form=released,rope=none,index_rope=none,k=2,index_heads=2,index_dim=3)",
           "topk(k=3,index_norm=yes,kv=1,form=plain)",
           "mamba2(act=silu,norm=after,heads=4,dim=2,norm_groups=2,form=plain)",
           "mamba2(form=released,norm=none,decay=sigmoid,conv=2,conv_bias=no)",
           "mamba(form=plain,select=conv,conv=2,conv_bias=yes)",
           "delta(form=plain,scale=yes,qk_act=relu,conv=2)",
           "heads(mamba2(dim=2,form=released,conv=2):1,gdelta(dim=2,form=released):2)",
       })
    lines.emplace_back(line);
  return lines;
}

}  // namespace rung
