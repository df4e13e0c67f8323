// Layers of every mixer, for the tests that compare two machines.
#pragma once

#include <string>
#include <vector>

namespace rung {

inline const std::vector<std::string> kPlainDecoders = {
    "full",
    "full(kv=1,vdim=1)",
    "full(window=3)",
    "full(chunk=4)",
    "full(conv=3)",
    "full(kv=1,conv=2,window=4)",
    "full(conv=1)",
    "linear",
    "linear(normalised=no,feature=identity)",
    "linear(normalised=no,feature=elu1,vdim=1)",
    "linear(feature=identity)",
    "linear(feature=relu)",
    "linear(feature=exp)",
    "linear(feature=taylor2)",
    "linear(normalised=no,feature=taylor2,dim=2)",
    "linear(conv=2)",
    "rnn",
    "rnn(cell=relu,size=3)",
    "gru",
    "gru(size=2)",
    "mamba(form=plain)",
    "mamba(conv=3,inner=3,form=plain)",
    "mamba2(form=plain)",
    "mamba2(groups=1,conv=2,form=plain)",
    "delta(form=plain)",
    "delta(kv=1,vdim=3,form=plain)",
    "gdelta(form=plain)",
    "gdelta(kv=1,conv=3,form=plain)",
    "delta(steps=3,form=plain)",
    "gdelta(kv=1,conv=2,steps=2,range=2,form=plain)",
    "loglinear",
    "loglinear(feature=elu1,conv=2)",
    "loglinear(feature=taylor2,dim=1)",
    "loglinear(base=mamba2,form=plain)",
    "loglinear(base=mamba2,groups=1,conv=2,form=plain)",
    "loglinear(base=gdelta,form=plain)",
    "loglinear(base=gdelta,kv=1,form=plain)",
    "sparse(B=4,k=2,form=plain)",
    "sparse(B=1,k=2,groups=1,form=plain)",
    "sparse(B=3,k=1,window=2,groups=2,form=plain)",
    "sparse(B=2,k=9,heads=4,kv=2,groups=1,dim=2,form=plain)",
    "topk(k=3,form=plain)",
    "topk(k=1,kv=1,form=plain)",
    "topk(k=2,index_heads=2,index_dim=3,form=plain)",
    "heads(full:1,delta(form=plain):1)",
    "heads(linear(dim=2):1,loglinear(dim=2):2,full(window=2,dim=1):1,gdelta(dim=3,form=plain):1)",
    "heads(mamba2(dim=2,form=plain):1,identity(vdim=3):1,sparse(B=2,k=1,dim=2,form=plain):2,topk(k=2,dim=2,"
    "form=plain):1)",
    "heads(linear(dim=2):1,gdelta(dim=3,form=plain):1)",
    "conv(width=3)",
    "conv(width=2,channels=3)",
    "conv(width=1)",
    "identity",
    "none",
    "full+delta(form=plain)+none+mamba2(form=plain)+full",
    "gdelta(form=plain)+rnn+conv(width=2)+linear*2",
};
inline const std::vector<std::string> kPlainEncoders = {
    "full",
    "full(window=2)",
    "full(kv=1)",
    "linear",
    "linear(normalised=no,feature=relu)",
    "linear(feature=taylor2)",
    "topk(k=2,form=plain)",
    "topk(k=3,index_heads=2,form=plain)",
    "identity",
    "none",
    "heads(full:1,linear:1)",
    "heads(topk(k=2,dim=2,form=plain):1,identity(vdim=2):1,full(window=3,dim=2):1)",
    "full+linear+full(window=3)",
};

// And the released forms that run in integers.
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
